"""Policy that fails on a call asks people, says why, and is an event of its own."""

from __future__ import annotations

import pytest

from reviewhub.audit.models import Event
from reviewhub.policies import rules
from tests.cast import Cast
from tests.driver import agent_of, call, policy

ALLOW = {"name": "Small", "tool": "refund", "action": "allow"}


def told() -> list[str]:
    return [event.payload.sentence for event in Event.objects.filter(kind="policy.undecided").order_by("id")]


def test_what_fails_on_a_call_holds_it_and_is_recorded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"description": "Refunds", "schema": {}, "effect": "once"}).ok()
    policy(cast.support, {**ALLOW, "expression": "double(args.order) / 0.0 > args.missing"})
    run = agent.run()["id"]
    paused = agent.pause(run, call()).ok()
    (held,) = paused["tool_calls"]
    assert held["state"] == "waiting" and "rule Small cannot be decided" in held["because"]["text"]
    (said,) = told()
    assert said.startswith("Policy v1 could not be decided on refund, so people are asked: rule Small")

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    policy(cast.support, {**ALLOW, "tool": "*"})
    with monkeypatch.context() as patched:
        patched.setattr(rules, "evaluate", broken)
        (held,) = agent.pause(agent.run()["id"], call()).ok()["tool_calls"]
    assert held["state"] == "waiting" and "the policy could not be read" in held["because"]["text"]
    assert told()[1:] == [
        "Policy v2 could not be decided on refund, so people are asked: the policy could not be read"
    ]
    (free,) = agent.pause(agent.run()["id"], call()).ok()["tool_calls"]
    assert free["state"] == "allowed" and len(told()) == 2
