"""What policy says now to a call that was proposed before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reviewhub.policies.evaluate import CallFacts, InForce, Resolved, evaluate
from reviewhub.policies.facts import call_facts
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.claims import failed_checks, wishes_of
from reviewhub.toolcalls.in_plan import plan_step
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.verdict_weight import counting
from reviewhub.tools.models import Tool


@dataclass(frozen=True, kw_only=True)
class Today:
    """A call as policy sees it now."""

    tool: Tool
    arguments: str
    facts: CallFacts
    answer: Resolved


def today(call: ToolCall, ahead: Ahead | None = None, *, by: InForce | None = None) -> Today:
    """What policy says now to the call's current version.

    Args:
        ahead: what was read of it before it was locked.
        by: the policy in force, where the caller has just looked.
    """
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    if ahead is not None and ahead.version != call.version:
        ahead = None
    arguments = ahead.arguments if ahead else arguments_of(call)
    known = call_facts(
        tool=tool,
        arguments=arguments,
        tree=ahead.tree if ahead else None,
        by_schema=ahead.by_schema if ahead and ahead.schema == tool.schema else None,
        failed_checks=counting(
            agent=call.agent,
            environment=call.run.environment,
            tool=call.tool_name,
            failed=failed_checks(call.claims),
        ),
        **wishes_of(call.claims),
        plan_step=plan_step(agent=call.agent, branch=call.branch, call_id=call.call_id),
    )
    facts = known.facts
    if known.errors:
        # The schema changed since the decision: what no longer fits it is held, as what cannot be checked.
        facts = replace(facts, schema_problem=known.errors[0]["message"])
    (answer,) = evaluate(
        workspace_id=call.workspace_id,
        agent=call.agent,
        environment=call.run.environment,
        calls=[facts],
        now=by,
    )
    return Today(tool=tool, arguments=arguments, facts=facts, answer=answer)
