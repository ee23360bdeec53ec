"""Why a call was held is told by what was known then: tools, agents, teams and the policy change afterwards."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call, policy

SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
RULES = (
    {
        "name": "Ours",
        "tool": "refund",
        "action": "allow",
        "agent_team": "Support",
        "expression": "effect == 'read'",
    },
    {"name": "All", "tool": "*", "action": "require"},
)


def told(agent: AgentHttp, call_id: str) -> tuple[str, str, list[object]]:
    found = agent.get(f"/tool-calls/{call_id}/policy").ok()
    return found["outcome"], found["because"]["text"], [step["matched"] for step in found["steps"]]


@pytest.mark.django_db
def test_it_is_told_as_it_was_then(cast: Cast) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"description": "Refunds", "schema": SCHEMA, "effect": "read"}).ok()
    policy(cast.support, *RULES)
    (made,) = agent.pause(agent.run()["id"], call(arguments={"order": "1"})).ok()["tool_calls"]
    assert set(made["because"]) == {"kind", "text", "policy_version", "rule"}, (
        "what was known is no agent's business"
    )
    before = told(agent, made["id"])
    assert before == ("allow", "Rule Ours lets it run.", [True, True])
    # The tool is another one now, the agent is another team's, and another policy is in force.
    agent.put("/tools/refund", {"description": "!", "schema": {"type": "array"}, "effect": "once"}).ok()
    Agent.objects.update(team=cast.finance, name="Renamed")
    policy(cast.support, {"name": "No", "tool": "*", "action": "deny"})
    assert told(agent, made["id"]) == before
    assert agent.get(f"/tool-calls/{made['id']}/policy").ok()["by_then"] is True
    # A call of before that was written down: what is known today, and said so.
    row = ToolCall.objects.get(pk=made["id"])
    because = {name: value for name, value in json.loads(row.because).items() if name != "then"}
    ToolCall.objects.filter(pk=row.pk).update(because=json.dumps(because))
    found = agent.get(f"/tool-calls/{made['id']}/policy").ok()
    assert (found["outcome"], "by_then" in found) == ("require", False)


@pytest.mark.django_db
def test_the_page_says_which_facts_it_goes_by(cast: Cast) -> None:
    agent = agent_of(cast.support)
    (held,) = agent.pause(agent.run()["id"], call()).ok()["tool_calls"]
    client = Client()
    client.force_login(cast.bob.person)
    where = f"/northwind/requests/{held['request']['number']}/policy"
    assert "by what was known of" in client.get(where).content.decode()
    ToolCall.objects.filter(pk=held["id"]).update(because="{}")
    assert "was not written down" in client.get(where).content.decode()
