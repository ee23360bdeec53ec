"""B25: going on from a chosen point begins at that point, each time on a branch of its own.

Elsewhere "run again from here" began at the start and repeated the steps before, or the head never moved again.
"""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of
from tests.racing import together


@pytest.mark.django_db(transaction=True)
def test_b25_two_ways_on_from_one_point(cast: Cast) -> None:
    agent = agent_of(cast.support)
    run = agent.run()
    saved = [save(agent, run["id"], "main", list("abcd"[:steps])) for steps in (1, 2, 3, 4)]
    main = Branch.objects.get(run=run["id"])
    agent.post(f"/branches/{main.pk}/finish", {"result": None}).ok()
    point = saved[1]

    twin = AgentHttp(token=agent.token)
    made = together(
        *[lambda who=who: who.post(f"/checkpoints/{point['id']}/fork", {}).ok(201) for who in (agent, twin)]
    )

    assert len({one["branch"]["id"] for one in made}) == 2
    for one in made:
        first = agent.get(f"/checkpoints/{one['checkpoint']}").ok()
        assert (first["state"], first["parent"]) == ({"done": ["a", "b"]}, point["id"])
        for steps in ("abc", "abcd"):
            last = save(agent, run["id"], one["branch"]["name"], list(steps))
        assert Branch.objects.get(pk=one["branch"]["id"]).head == uuid_of(last)
        assert last["number"] == 3
    main.refresh_from_db()
    assert (main.head, main.state) == (uuid_of(saved[3]), "succeeded")
    parents = dict(Checkpoint.objects.filter(run=run["id"]).values_list("pk", "parent_id"))
    assert list(parents.values()).count(None) == 1
    assert sum(parent == uuid_of(point) for parent in parents.values()) == 3
    refused = agent.post(f"/runs/{run['id']}/checkpoints", {"branch": "main", "state": {}})
    assert (refused.status, refused.code) == (409, "run_ended")


def save(agent: AgentHttp, run: str, branch: str, done: list[str]) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", {"branch": branch, "state": {"done": done}}).ok(201)


def uuid_of(saved: Any) -> Any:
    return Checkpoint.objects.only("pk").get(pk=saved["id"]).pk
