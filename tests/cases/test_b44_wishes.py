"""B44: what an agent wished to tighten is not lost on the way: not by an edit, nor when people are asked again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db

WISHES: dict[str, Any] = {"allowed_decisions": ["edit", "reject"], "deadline": "PT1H"}
CHANGE = [{"op": "set", "path": "/amount", "value": "9.00"}]


RULE = {"name": "Refunds", "tool": "refund", "action": "require", "approvals": 2, "deadline_seconds": 172_800}


def allowed(shown: Any) -> tuple[set[str], int]:
    """The decisions that a request takes, and in how many hours it has to be answered."""
    until = datetime.fromisoformat(shown["deadline_at"]) - datetime.fromisoformat(shown["created_at"])
    return set(shown["allowed_decisions"]), round(until.total_seconds() / 3600)


def test_b44_an_edit_keeps_what_the_agent_wished(cast: Cast) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    policy(cast.support, RULE)
    (one,) = agent.pause(agent.run()["id"], call(**WISHES)).ok(201)["tool_calls"]
    address = f"/requests/{one['request']['id']}"
    assert allowed(bob.get(address).ok()) == ({"edit", "reject"}, 1)
    bob.decide(one, "edit", changes=CHANGE).ok()
    shown = bob.get(address).ok()
    assert shown["version"] == 2
    assert allowed(shown) == ({"edit", "reject"}, 1)


def test_b44_who_is_asked_again_is_asked_as_the_agent_wished(cast: Cast) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    agent.put("/tools/refund", {"effect": "once"}).ok()
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "allow"})
    (one,) = agent.pause(agent.run()["id"], call(**WISHES)).ok(201)["tool_calls"]
    policy(cast.support, RULE)
    assert agent.consume(one).code == "policy_changed"
    (shown,) = bob.get("/requests").ok()["items"]
    assert allowed(bob.get(f"/requests/{shown['id']}").ok()) == ({"edit", "reject"}, 1)
