"""Long ways are walked in pieces that each come in time, and the pieces say what one long walk would."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from reviewhub_agents import canonical

from reviewhub.checkpoints import walk
from reviewhub.checkpoints.blame import blame
from reviewhub.checkpoints.find import SoFar, find
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import RAW, Put, write_row
from reviewhub.checkpoints.tree import make_state
from reviewhub.checkpoints.walk import Walk, way_length
from reviewhub.core import keyset
from reviewhub.core.clock import now
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of

pytestmark = pytest.mark.django_db
MANY = 2000
EVERY = 64


def rows(branch: Branch, count: int, *, late: int = 151, named: Collection[int] = ()) -> list[Checkpoint]:
    """So many checkpoints without saving one: `step` is the number, `phase` "early" and then, from `late` on, "late".

    Args:
        named: numbers of those whose states are read, so that they need a hash; empty for all.
    """
    made, at = [], now()
    for number in range(1, count + 1):
        texts = {"phase": '"early"' if number < late else '"late"', "step": str(number)}
        content = write_row([Put((name,), text) for name, text in texts.items()])
        hash_ = "sha256:none"
        if not named or number in named:
            hash_ = make_state({name: canonical.parse(text) for name, text in texts.items()}).state_hash
        made.append(
            Checkpoint(
                id=uuid.UUID(int=branch.pk.int ^ number),
                workspace_id=branch.workspace_id,
                run_id=branch.run_id,
                branch=branch,
                parent_id=made[-1].pk if made else None,
                number=number,
                base=number - (number - 1) % EVERY,
                content=RAW + content.encode(),
                state_hash=hash_,
                raw_length=len(content),
                created_at=at,
            )
        )
    Checkpoint.objects.bulk_create(made)
    Branch.objects.filter(pk=branch.pk).update(head=made[-1].pk)
    return made


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def test_two_thousand_checkpoints_are_asked_about_in_pieces(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    way = rows(Branch.objects.get(run=run), MANY, named={151, MANY - walk.MOST + 1, 1500, 1501})
    at = f"/checkpoints/{way[-1].pk}"
    with CaptureQueriesContext(connection) as first:
        told = agent.get(f"{at}/blame?path=/phase").ok()
    assert "checkpoint" not in told
    assert (told["looked_at"], told["of"]) == (walk.MOST, MANY)
    assert len(first) < 4 * walk.MOST / EVERY + 20, "the work follows the piece, not the way"
    told = agent.get(f"{at}/blame?path=/phase&before={told['before']}").ok()
    assert told["checkpoint"]["number"] == 151
    assert "before" not in told

    asked = {"path": "/phase", "value": "late"}
    found = agent.post(f"{at}/find", asked).ok()
    assert found["introduced"]["number"] == MANY - walk.MOST + 1, "so far"
    assert (found["looked_at"], found["of"]) == (walk.MOST, MANY)
    found = to_the_end(agent, at, asked, found)
    assert found["introduced"]["number"] == 151
    assert "lost" not in found
    once = {"path": "/step", "value": 1500}
    found = to_the_end(agent, at, once, agent.post(f"{at}/find", once).ok())
    assert (found["introduced"]["number"], found["lost"]["number"]) == (1500, 1501)


def to_the_end(agent: AgentHttp, at: str, asked: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    while "before" in found:
        found = agent.post(f"{at}/find", asked | {"before": found["before"]}).ok()
    return found


@pytest.mark.parametrize("most", [2, 5])
def test_pieces_say_what_one_walk_does(branch: Branch, most: int) -> None:
    way = rows(branch, 12, late=5)
    for path, value in (("/phase", "early"), ("/phase", "late"), ("/step", 6), ("/step", 10), ("/none", 1)):
        head, wanted = way[-2], canonical.parse(canonical.dumps(value))
        found, so_far = find(checkpoint=head, path=path, value=wanted, most=most), None
        blamed = blame(checkpoint=head, path=path, most=most)
        while found.rest is not None:
            so_far = SoFar(last=found.rest.last, introduced=found.introduced, lost=found.lost)
            found = find(checkpoint=head, path=path, value=wanted, so_far=so_far, most=most)
        while blamed.rest is not None:
            assert blamed.checkpoint is None
            blamed = blame(checkpoint=head, path=path, after=blamed.rest.last, most=most)
        whole = find(checkpoint=head, path=path, value=wanted)
        assert (found.introduced, found.lost) == (whole.introduced, whole.lost)
        assert blamed.checkpoint == blame(checkpoint=head, path=path).checkpoint


def test_a_walk_whose_time_is_over_looks_at_two_and_says_so(branch: Branch) -> None:
    way = rows(branch, 5)
    slow = Walk(way[-1], "/step", seconds=-1)
    assert [sight.checkpoint.number for sight in slow] == [5, 4]
    assert slow.rest is not None
    assert (slow.rest.last.number, slow.rest.looked_at, slow.rest.of) == (4, 2, 5)
    onward = Walk(way[-1], "/step", after=slow.rest.last, seconds=-1)
    assert [sight.checkpoint.number for sight in onward] == [4, 3]
    assert onward.rest is not None and onward.rest.looked_at == 3
    assert way_length(way[2]) == 3


@pytest.mark.parametrize("before", ["x", "WyJ4Il0", "WyIiXQ", "W1sxXV0"])
def test_what_is_no_before_is_refused(agent: AgentHttp, before: Any) -> None:
    way = rows(Branch.objects.get(run=agent.run()["id"]), 2)
    at = f"/checkpoints/{way[-1].pk}"
    assert agent.get(f"{at}/blame?path=/step&before={before}").json["errors"][0]["path"] == "/before"
    assert agent.post(f"{at}/find", {"path": "/step", "value": 1, "before": before}).status == 422


def test_a_before_opens_no_other_run(agent: AgentHttp) -> None:
    one, other = (rows(Branch.objects.get(run=agent.run()["id"]), 2) for _ in range(2))
    foreign = keyset.write([str(other[0].pk)])
    assert agent.get(f"/checkpoints/{one[1].pk}/blame?path=/step&before={foreign}").status == 422
