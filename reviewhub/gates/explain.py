"""What policy would say to a call that nobody makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.core.errors import Invalid
from reviewhub.gates.prepare import because_text, failed_names
from reviewhub.policies.explain import Explained
from reviewhub.policies.explain import explain as explain_policy
from reviewhub.policies.facts import call_facts
from reviewhub.policies.rules import Step
from reviewhub.reviews.present_requirement import requirement_out
from reviewhub.toolcalls.claims import failed_checks
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.tools.models import Tool
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


def explain_call(call: ToolCall) -> Explained:
    """Why a call was or was not held: what the version that answered it says to it, rule by rule.

    Arguments are those of its newest version; what is known of its tool is what is known today.
    """
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    read = call_facts(tool=tool, arguments=arguments_of(call), failed_checks=failed_checks(call.claims))
    facts = read.facts
    if read.errors:
        facts = replace(facts, schema_problem=read.errors[0]["message"])
    return explain_policy(
        workspace_id=call.workspace_id,
        agent=call.agent,
        environment=call.run.environment,
        call=facts,
        number=call.policy_version,
    )


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
    if answer.requirement is not None:
        fields["requirement"] = requirement_out(answer.requirement)
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
