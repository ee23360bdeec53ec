"""B28, further inputs: what was known and is not any more, and texts that nobody should read as a policy."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.policies.models import PolicyVersion
from reviewhub.tools.models import Tool
from tests.cases.conftest import Exec
from tests.cases.test_b28_unknown_tools import ALLOW_ALL, pause, waits
from tests.cast import Cast
from tests.driver import AgentHttp, policy

KNOWN = {"effect": "read", "schema": {"type": "object"}}
CHANGES: list[dict[str, Any]] = [
    {**KNOWN, "effect": "once"},
    {**KNOWN, "schema": {"type": "object", "properties": {"to": {"type": "string"}}}},
    {**KNOWN, "schema": {"type": "object", "additionalProperties": True}},
    {**KNOWN, "schema": {}},
]
NO_POLICY = [
    '{"rules":[{"name":"All","tool":"*","action":"allow"}],"rules":[]}',
    '\ufeff{"rules":[{"name":"All","tool":"*","action":"allow"}]}',
    '{"rules":[{"name":"All","tool":"*","action":"allow","if":"never"}]}',
    '{"rules":[{"name":"All","tool":"*","action":"ALLOW"}]}',
    '{"rules":[{"name":"All","tool":"*","action":["allow"]}]}',
    '{"rules":{"name":"All","tool":"*","action":"allow"}}',
    '{"rules":[{"name":"All","tool":"*","action":"allow"},{"name":"Two","tool":"*","action":null}]}',
    '{"rules":[{"name":"All","tool":"*","action":"allow"}]} {}',
    '{"Rules":[{"name":"All","tool":"*","action":"allow"}]}',
    '{"rules":[{"name":"All","tool":"*","action":"allow","when":[{"path":"a","test":"is","value":NaN}]}]}',
]
NOT_DECIDED = [
    "args.amount > 0",  # a text, and no overload for it
    "args.missing == 1",
    "1 / 0 == 0",
    "args.order",  # no answer of true or false
    "args['order'] > 5",
]


@pytest.mark.parametrize("change", CHANGES, ids=["effect", "property", "the same in other words", "any"])
def test_b28_a_tool_that_changed_is_not_the_one_that_was_published(
    agent: AgentHttp, cast: Cast, tool: Exec, change: Any
) -> None:
    agent.put("/tools/read_order", KNOWN).ok()
    policy(cast.support, ALLOW_ALL)
    allowed = pause(agent, "read_order").ok(201)["tool_calls"][0]
    assert allowed["state"] == "allowed"
    agent.put("/tools/read_order", change).ok()
    waits(pause(agent, "read_order"), tool)
    assert agent.consume(allowed).status == 409, "nor is a grant of before"
    agent.put("/tools/read_order", KNOWN).ok()
    assert pause(agent, "read_order").ok(201)["tool_calls"][0]["state"] == "allowed", "as it was published"


@pytest.mark.parametrize("text", NO_POLICY)
def test_b28_what_is_nearly_a_policy_lets_nothing_run(
    cast: Cast, agent: AgentHttp, tool: Exec, text: str
) -> None:
    agent.put("/tools/read_order", KNOWN).ok()
    PolicyVersion.objects.create(workspace=cast.workspace, number=1, rules=text, author_name="test")
    waits(pause(agent, "read_order"), tool)


@pytest.mark.parametrize("action", ["allow", "observe", "deny", "require"])
@pytest.mark.parametrize("expression", NOT_DECIDED)
def test_b28_an_expression_without_an_answer_holds_the_call_and_says_so(
    cast: Cast, agent: AgentHttp, tool: Exec, action: str, expression: str
) -> None:
    agent.put("/tools/read_order", KNOWN).ok()
    policy(cast.support, {**ALLOW_ALL, "name": "Odd", "action": action, "expression": expression}, ALLOW_ALL)
    reply = pause(agent, "read_order")
    waits(reply, tool)
    assert "rule Odd cannot be decided" in reply.json["tool_calls"][0]["because"]["text"]


def test_b28_an_agent_of_another_team_and_a_tool_nobody_describes_any_more(
    cast: Cast, agent: AgentHttp, tool: Exec
) -> None:
    agent.put("/tools/read_order", KNOWN).ok()
    policy(cast.support, {**ALLOW_ALL, "agent_team": "Support"})
    Agent.objects.update(team=cast.finance)
    waits(pause(agent, "read_order"), tool)
    Agent.objects.update(team=cast.support)
    Tool.objects.update(registered_at=None)
    waits(pause(agent, "read_order"), tool)
