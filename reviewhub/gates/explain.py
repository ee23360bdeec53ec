"""What policy would say to a call that nobody makes."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.core.errors import Invalid
from reviewhub.gates.prepare import because_text, failed_names
from reviewhub.policies.explain import Explained
from reviewhub.policies.explain import explain as explain_policy
from reviewhub.policies.facts import call_facts
from reviewhub.policies.rules import Step
from reviewhub.tools.see import known


def explain(*, agent: Agent, environment: str, body: wire.ExplainBody) -> wire.ExplainOut:
    """The answer of the policy in force; nothing is stored, not even that the tool was named."""
    tool = known(agent=agent, names=[body.tool])[body.tool]
    arguments = body.canonical_arguments
    read = call_facts(tool=tool, arguments=arguments, failed_checks=failed_names(body.checks))
    if read.errors:
        raise Invalid("The arguments are not what the tool's schema allows.", errors=read.errors)
    found = explain_policy(
        workspace_id=agent.workspace_id, agent=agent, environment=environment, call=read.facts
    )
    return explained(found)


def explained(found: Explained) -> wire.ExplainOut:
    """An answer, and how it came about, in the words of the contract."""
    answer = found.answer
    tree = canonical.reread(because_text(answer))
    because = (
        {name: value for name, value in tree.items() if name != "action"} if isinstance(tree, dict) else {}
    )
    fields: dict[str, Any] = {
        "outcome": answer.action,
        "because": wire.Because.from_tree(because),
        "policy_version": answer.policy_version,
    }
    fields["steps"] = [_step(step) for step in found.steps]
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


def _step(step: Step) -> wire.StepOut:
    parts = [wire.PartOut(what=part.what, holds=part.holds, why=part.why) for part in step.parts]
    return wire.StepOut(
        layer=step.layer,
        position=step.position,
        rule=step.rule,
        action=wire.PolicyOutcome(step.action),
        matched=step.matched,
        why=step.why,
        answers=step.answers,
        parts=parts,
    )
