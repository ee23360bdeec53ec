"""B28: what policy does not know, or cannot say, waits for a person. And a new rule counts from the next check on."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError

from reviewhub.policies import evaluate as evaluating
from reviewhub.policies.models import PolicyVersion
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, call, policy

ALLOW_ALL = {"name": "All", "tool": "*", "action": "allow"}
OBSERVE_ALL = {"name": "Look", "tool": "*", "action": "observe"}


def pause(agent: AgentHttp, tool: str, **fields: Any) -> Reply:
    return agent.pause(agent.run()["id"], call(tool, **fields))


def waits(reply: Reply, tool: Exec) -> None:
    (one,) = reply.ok(201)["tool_calls"]
    assert one["state"] == "waiting"
    assert one["request"]["id"]
    assert not tool.attempt(one)


@pytest.mark.parametrize(
    "rules", [None, [], [ALLOW_ALL], [OBSERVE_ALL]], ids=["none", "empty", "allow", "observe"]
)
def test_b28_an_unknown_tool_waits(cast: Cast, agent: AgentHttp, tool: Exec, rules: list[Any] | None) -> None:
    if rules is not None:
        policy(cast.support, *rules)
    for claims in ({}, {"effect": "read"}, {"labels": {"risk": "low", "trusted": "true"}}):
        waits(pause(agent, "exfiltrate_data", **claims), tool)


def test_b28_known_to_another_agent_is_unknown_here(cast: Cast, agent: AgentHttp, tool: Exec) -> None:
    from tests.driver import agent_of

    other = agent_of(cast.support, name="Other agent")
    other.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    policy(cast.support, ALLOW_ALL)
    waits(pause(agent, "read_order"), tool)


def test_b28_seen_before_is_not_known(cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    """Neither a first call nor an approval of it makes a tool known."""
    (first,) = pause(agent, "exfiltrate_data").ok(201)["tool_calls"]
    reviewer.decide(first, "approve").ok()
    policy(cast.support, ALLOW_ALL)
    waits(pause(agent, "exfiltrate_data"), tool)


NEAR = [
    "Read_Order",
    "read_order ",
    " read_order",
    "read-order",
    "read.order",
    "read_orders",
    "ｒead_order",
    "r\u0435ad_order",
    "read\u200b_order",
    "read_order\u00ad",
    "srv1__read_order",
]


@pytest.mark.parametrize("tool_rule", ["*", "read_order", "read*"])
def test_b28_a_name_that_is_not_exactly_known_waits(
    cast: Cast, agent: AgentHttp, tool: Exec, tool_rule: str
) -> None:
    agent.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    policy(cast.support, {**ALLOW_ALL, "tool": tool_rule})
    assert pause(agent, "read_order").ok(201)["tool_calls"][0]["state"] == "allowed"
    for name in NEAR:
        reply = pause(agent, name)
        if reply.status == 201:
            waits(reply, tool)
        else:
            assert reply.status in (400, 422), name


@pytest.mark.parametrize(
    "rules", ["", "{", "[]", '{"rules":[{"name":"All","tool":"*","action":"Allow"}]}', '{"rules":null}']
)
def test_b28_a_policy_that_cannot_be_read_lets_nothing_run(
    cast: Cast, agent: AgentHttp, tool: Exec, rules: str
) -> None:
    agent.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    PolicyVersion.objects.create(workspace=cast.workspace, number=1, rules=rules, author_name="test")
    waits(pause(agent, "read_order"), tool)


@pytest.mark.parametrize("error", [DatabaseError("gone"), TimeoutError(), ValueError("x"), RecursionError()])
def test_b28_when_asking_policy_fails_the_call_waits(
    cast: Cast, agent: AgentHttp, tool: Exec, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    agent.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    policy(cast.support, ALLOW_ALL)

    def fail(*arguments: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(evaluating, "newest", fail)
    waits(pause(agent, "read_order"), tool)
    monkeypatch.undo()
    monkeypatch.setattr(evaluating.rules, "evaluate", fail)
    waits(pause(agent, "read_order"), tool)


def test_b28_a_new_rule_counts_from_the_next_check_on(cast: Cast, agent: AgentHttp, tool: Exec) -> None:
    agent.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    policy(cast.support, ALLOW_ALL)
    allowed = pause(agent, "read_order").ok(201)["tool_calls"][0]
    assert allowed["state"] == "allowed"
    policy(cast.support, {"name": "Held", "tool": "read_order", "action": "require"})
    waits(pause(agent, "read_order"), tool)
    # A grant that policy gave and nobody used yet is no longer one.
    assert agent.consume(allowed).status == 409
    assert not tool.ran
    policy(cast.support, {"name": "Never", "tool": "read_order", "action": "deny"})
    denied = pause(agent, "read_order").ok(201)["tool_calls"][0]
    assert denied["state"] == "denied"
    assert not tool.attempt(denied)


def test_b28_a_denial_by_now_beats_an_unused_approval(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    (waiting,) = pause(agent, "refund").ok(201)["tool_calls"]
    reviewer.decide(waiting, "approve").ok()
    policy(cast.support, {"name": "Never", "tool": "refund", "action": "deny"})
    assert not tool.attempt(waiting)
    assert agent.get(f"/tool-calls/{waiting['id']}").ok()["state"] == "denied"


def test_b28_a_schema_that_cannot_be_used_holds_the_call(cast: Cast, agent: AgentHttp, tool: Exec) -> None:
    from reviewhub.tools.models import Tool

    agent.put("/tools/read_order", {"effect": "read", "schema": {}}).ok()
    policy(cast.support, ALLOW_ALL)
    Tool.objects.update(schema='{"$ref":"http://127.0.0.1:9/schema"}')
    waits(pause(agent, "read_order"), tool)


def test_b28_explaining_says_the_same(cast: Cast, agent: AgentHttp) -> None:
    policy(cast.support, ALLOW_ALL)
    explained = agent.post("/policy/explain", {"tool": "exfiltrate_data", "arguments": {}}).ok()
    assert explained["outcome"] == "require"
