"""The timeline of a run page: what is folded, which lane a branch has, and what is drawn of what agents wrote."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from reviewhub_agents import wire

from reviewhub.accounts.models import Member
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.outline import Span, gaps
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import SYSTEM
from reviewhub.runs.models import Branch
from reviewhub.web.run_graph import LANES, Dot, Track, draw, lanes
from reviewhub.web.run_lines import Asked, timeline
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

As = Callable[[Member], Client]
A, B, C = (uuid.UUID(int=n) for n in range(1, 4))


@pytest.mark.parametrize(
    ("numbers", "short", "folds"),
    [
        ([1, 2, 3], [], []),
        ([3], [(1, 2)], []),
        ([4], [], [(1, 3)]),
        ([1, 4, 9], [(2, 3)], [(5, 8)]),
        ([1, 1000], [], [(2, 999)]),
        ([], [], []),
    ],
)
def test_what_is_between_is_folded(numbers: list[int], short: Any, folds: Any) -> None:
    found = gaps({A: numbers})
    assert found == ([Span(A, *one) for one in short], [Span(A, *one) for one in folds])


@pytest.mark.parametrize(
    ("rows", "tracks", "found"),
    [
        ("aaa", {"a": None}, {"a": 0}),
        ("bbaa", {"a": None, "b": 2}, {"a": 0, "b": 1}),
        ("bacca", {"a": None, "b": 1, "c": 4}, {"a": 0, "b": 1, "c": 1}),  # b has ended above
        ("cbcba", {"a": None, "b": 4, "c": 4}, {"a": 0, "b": 1, "c": 2}),
        ("bb", {"a": None, "b": None}, {"b": 0}),  # of the oldest nothing is left
        (
            "abcdefg",
            {"a": None, **dict.fromkeys("bcdefg", 6)},
            {"a": 0, "b": 1, "c": 2, "d": 3, **dict.fromkeys("efg", LANES - 1)},
        ),
    ],
)  # fmt: skip
def test_lanes(rows: str, tracks: dict[str, int | None], found: dict[str, int]) -> None:
    at = {name: uuid.UUID(int=ord(name)) for name in "abcdefg"}
    ways = {at[name]: Track("fork", origin) for name, origin in tracks.items()}
    assert lanes([at[name] for name in rows], ways) == {at[name]: lane for name, lane in found.items()}


def test_labels_are_escaped_and_what_is_hidden_in_them_is_written_out() -> None:
    dot = Dot(A, "gate", "bad", '"><script>alert(1)</script>\u202e', '?a="b', plan=3)
    drawn = draw([dot], {A: Track("main")}, said="<b>")
    assert "<script>" not in drawn and "&lt;script&gt;" in drawn
    assert "\u202e" not in drawn and "U+202E" in drawn
    assert 'href="?a=&quot;b"' in drawn and 'aria-label="&lt;b&gt;"' in drawn and ">v3</text>" in drawn


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def run(cast: Cast, agent: AgentHttp) -> dict[str, Any]:
    """Thirty checkpoints, a gate, and a rewrite from the tenth on."""
    agent.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    made = agent.run(title="Ticket")
    branch = Branch.objects.get(run=made["id"])
    found = [_save(branch, n) for n in range(1, 31)]
    (held,) = agent.pause(
        made["id"], call(), checkpoint={"parent": str(found[-1].pk), "state": {"n": 31}}
    ).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(held, "approve").ok()
    wrote = {"changes": [{"op": "set", "path": "/n", "value": 0}], "reason": "the <b>tenth</b> was wrong"}
    new = PersonHttp(cast.bob).post(f"/checkpoints/{found[9].pk}/rewrite", wrote).ok(201)
    return {"id": made["id"], "at": found, "branch": branch, "new": new}


def _save(branch: Branch, number: int) -> Checkpoint:
    branch.refresh_from_db()
    tree = {"state": {"n": number, "by": "agent"}, "node": f"node {number}"}
    made = draft(branch=branch, message=wire.CheckpointIn.from_tree(tree))
    return save(branch=branch, draft=made, actor=SYSTEM)


def page(client: Client, where: str, status: int = 200) -> str:
    answer = client.get(f"/northwind/runs/{where}")
    assert answer.status_code == status
    return answer.content.decode()


def numbers(shown: str) -> list[str]:
    """What the lines say they are, from the top."""
    found = re.findall(r'cpt__n num">(\w+)<|<b>Checkpoints (\d+ to \d+)</b>', shown)
    return [one or other for one, other in found]


@pytest.mark.django_db
class TestThePage:
    def test_what_matters_stands_alone_and_the_rest_is_folded(self, cast: Cast, as_: As, run: Any) -> None:
        shown = page(as_(cast.bob), run["id"])
        assert numbers(shown) == ["1", "31", "11 to 30", "10", "2 to 9", "1"]
        assert "Graph of the list beside it: 6 lines on 2 lanes, 1 gates, 1 rewrites" in shown
        assert "approved by <bdi>Bob</bdi>" in shown
        assert "the <b>tenth" not in shown

    def test_a_fold_opens(self, cast: Cast, as_: As, run: Any) -> None:
        main = run["branch"].pk
        shown = page(as_(cast.bob), f"{run['id']}?open={main}:30")
        assert numbers(shown) == ["1", "31", *(str(n) for n in range(30, 0, -1))]
        assert f'id="at-{main}-30"' in shown
        for wrong in (f"{main}:x", "x:3", f"{uuid.uuid4()}:3"):
            assert as_(cast.bob).get(f"/northwind/runs/{run['id']}?open={wrong}").status_code in (200, 404)

    def test_two_are_compared_from_the_older_to_the_newer(self, cast: Cast, as_: As, run: Any) -> None:
        old, new = run["at"][1], run["at"][4]
        for one, other in ((old, new), (new, old)):
            shown = page(as_(cast.bob), f"{run['id']}?checkpoint={one.pk}&with={other.pk}")
            assert re.search(r'<s class="pre"><bdi>2</bdi></s>.*<b class="pre"><bdi>5</bdi></b>', shown)
            assert "1 value differs" in shown and ">compared<" in shown
        page(as_(cast.bob), f"{run['id']}?checkpoint={old.pk}&with={uuid.uuid4()}", 404)
        page(as_(cast.bob), f"{run['id']}?with=x", 404)

    def test_the_panel_says_what_was_done_since_and_who_changed_a_value(
        self, cast: Cast, as_: As, run: Any
    ) -> None:
        shown = page(as_(cast.bob), f"{run['id']}?checkpoint={run['at'][4].pk}")
        assert f"checkpoints/{run['at'][4].pk}/trace?path=%2Fn" in shown
        assert "main is superseded" in shown.replace("<bdi>", "").replace("</bdi>", "")

    def test_a_longer_run_costs_no_more_queries(self, run: Any) -> None:
        branches = Branch.objects.filter(run=run["id"]).order_by("created_at")
        row, branch = run["branch"].run, branches.get(name=run["new"]["branch"]["name"])
        counts, folds = [], []
        for some in (range(2, 10), range(10, 40)):
            for number in some:
                _save(branch, number)
            with CaptureQueriesContext(connection) as queries:
                found = timeline(row, list(branches.all()), Asked(page="/"), [])
            counts.append(len(queries))
            folds.append([(line.fold.first, line.fold.last) for line in found.lines if line.fold])
        assert folds == [[(2, 8), (11, 30), (2, 9)], [(2, 38), (11, 30), (2, 9)]]
        assert counts == [counts[0]] * 2
