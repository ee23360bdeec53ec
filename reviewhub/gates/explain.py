"""What policy would say to a call that nobody makes."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.gates.prepare import because_text, facts_of_call
from reviewhub.policies.evaluate import Resolved
from reviewhub.policies.explain import explain as explain_policy
from reviewhub.tools.models import Tool


def explain(*, agent: Agent, environment: str, body: wire.ExplainBody) -> wire.ExplainOut:
    """The answer of the policy in force; nothing is stored, not even that the tool was named."""
    tool = Tool.objects.filter(agent=agent, name=body.tool).first() or Tool(agent=agent, name=body.tool)
    facts = facts_of_call(
        tool=tool, arguments=body.canonical_arguments, effect=body.effect, checks=body.checks
    )
    found = explain_policy(workspace_id=agent.workspace_id, agent=agent, environment=environment, call=facts)
    return explained(found.answer)


def explained(answer: Resolved) -> wire.ExplainOut:
    """An answer in the words of the contract."""
    tree = canonical.parse(because_text(answer))
    because = (
        {name: value for name, value in tree.items() if name != "action"} if isinstance(tree, dict) else {}
    )
    fields: dict[str, Any] = {
        "outcome": answer.action,
        "because": wire.Because.from_tree(because),
        "policy_version": answer.policy_version,
    }
    needed = answer.requirement
    if needed is not None:
        requirement: dict[str, Any] = {
            "team": needed.team,
            "approvals": needed.approvals,
            "denials": needed.deny_threshold,
            "on_timeout": needed.on_timeout,
        }
        if needed.deadline_seconds:
            requirement["deadline"] = f"PT{needed.deadline_seconds}S"
        fields["requirement"] = wire.RequirementOut(**requirement)
    return wire.ExplainOut(**fields)
