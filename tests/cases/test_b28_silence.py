"""B28: silence is nobody's yes. What it let run under an older policy is asked about before it starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.core import clock
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.reviews.expire import expire
from reviewhub.reviews.models import ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, call

SILENCE = {
    "name": "Silence", "tool": "refund", "action": "require", "deadline_seconds": 60, "on_timeout": "allow"
}  # fmt: skip
ASK = {"name": "Ask", "tool": "refund", "action": "require"}
LATER: dict[str, dict[str, Any]] = {
    "a guardrail": {"rules": [SILENCE], "guardrails": [{**ASK, "approvals": 2}]},
    "a rule": {"rules": [ASK]},
    "no rule": {"rules": []},
    "a limit": {
        "rules": [SILENCE],
        "limits": [{"name": "L", "tool": "refund", "most": 0, "window_seconds": 60}],
    },
}


def put(cast: Cast, **layers: Any) -> None:
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps(layers),
        note="why",
        base=current_number(cast.workspace.pk),
        actor=ALICE,
    )


def silent(cast: Cast, agent: AgentHttp) -> Any:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    put(cast, rules=[SILENCE])
    return agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]


def nobody_answers() -> None:
    ReviewRequest.objects.filter(state="pending").update(deadline_at=clock.now())
    assert expire(request_id=ReviewRequest.objects.get(state="pending").pk)


@pytest.mark.parametrize("before", [True, False], ids=["published before", "published after"])
@pytest.mark.parametrize("layers", LATER.values(), ids=LATER)
def test_b28_silence_is_no_yes_to_a_stricter_policy(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, layers: Any, before: bool
) -> None:
    waiting = silent(cast, agent)
    if before:
        put(cast, **layers)
    nobody_answers()
    if not before:
        put(cast, **layers)
    refused = agent.consume(waiting)
    assert (refused.status, refused.code) == (409, "policy_changed")
    again = ReviewRequest.objects.get(state="pending")
    assert again.on_timeout == "deny"
    assert not tool.attempt(waiting)


def test_b28_silence_is_no_yes_to_a_tool_that_changed(cast: Cast, agent: AgentHttp, tool: Exec) -> None:
    waiting = silent(cast, agent)
    nobody_answers()
    agent.put("/tools/refund", {"effect": "once", "schema": {"type": "object"}}).ok()
    assert not tool.attempt(waiting)


def test_b28_silence_is_a_yes_where_policy_still_says_so(cast: Cast, agent: AgentHttp, tool: Exec) -> None:
    waiting = silent(cast, agent)
    nobody_answers()
    put(cast, rules=[{**SILENCE, "deadline_seconds": 90}])
    assert tool.attempt(waiting)


def test_b28_a_persons_yes_stands_as_it_did(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    waiting = silent(cast, agent)
    reviewer.decide(waiting, "approve").ok()
    put(cast, rules=[ASK])
    assert tool.attempt(waiting)
