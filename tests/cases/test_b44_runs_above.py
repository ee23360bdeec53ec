"""B44, further ways round four eyes: a run that another one started has that one's people behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.runs.models import Run
from tests.cases.conftest import Exec
from tests.cases.test_b44_own_calls import EYES
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy


def started(cast: Cast, run: str) -> None:
    Run.objects.filter(pk=run).update(started_by=cast.bob)


def acted_for(cast: Cast, run: str) -> None:
    Run.objects.filter(pk=run).update(on_behalf_of="Bob <BOB@example.com>")


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("own", [started, acted_for])
def test_b44_a_run_below_does_not_lose_whose_it_is(
    cast: Cast,
    agent: AgentHttp,
    reviewer: PersonHttp,
    tool: Exec,
    own: Callable[[Cast, str], None],
    depth: int,
) -> None:
    policy(cast.support, EYES)
    cast.dave.teams.add(cast.support)
    top = run = agent.run()["id"]
    own(cast, top)
    for _ in range(depth):
        run = agent.run(parent=run, on_behalf_of="dave2@example.com")["id"]
    waiting: Any = agent.pause(run, call("refund")).ok(201)["tool_calls"][0]
    refused = reviewer.decide(waiting, "approve")
    assert (refused.status, refused.code) == (403, "forbidden")
    assert not tool.attempt(waiting)
    PersonHttp(cast.dave).decide(waiting, "approve").ok()
    assert tool.attempt(waiting)


def test_b44_who_rewrote_a_run_above_has_a_hand_in_what_it_started(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    policy(cast.support, EYES)
    top = agent.run()["id"]
    first = agent.post(f"/runs/{top}/checkpoints", {"state": {"amount": 10}}).ok(201)
    below, beside = agent.run(parent=agent.run(parent=top)["id"])["id"], agent.run()["id"]
    reviewer.post(f"/checkpoints/{first['id']}/rewrite", {"changes": [], "reason": "Anew."}).ok(201)
    waiting, other = (agent.pause(run, call("refund")).ok(201)["tool_calls"][0] for run in (below, beside))
    assert reviewer.decide(waiting, "approve").code == "forbidden"
    assert not tool.attempt(waiting)
    reviewer.decide(other, "approve").ok()
