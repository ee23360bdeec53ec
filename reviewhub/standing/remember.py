"""A call that is being approved is remembered: calls like it go through from now on, within bounds."""

from __future__ import annotations

from datetime import datetime, timedelta

from reviewhub_agents import canonical, wire
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid
from reviewhub.policies.check_conditions import Described, errors_of
from reviewhub.policies.evaluate import call_of
from reviewhub.policies.matching import parts
from reviewhub.policies.text_lengths import too_long_in
from reviewhub.standing import rules
from reviewhub.standing.kinds import StandingMade
from reviewhub.standing.models import StandingApproval
from reviewhub.standing.queries import bounds_rule, plain
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.today import Today, today

DEFAULT_DAYS = 30
MOST_DAYS = 366


def why_not(call: ToolCall) -> str:
    """Why an approval of this call cannot be remembered, for people; empty when it can."""
    return _why_not(call, today(call))


def remember(
    *,
    call: ToolCall,
    request_number: int,
    member: Member,
    asked: wire.Remember,
    actor: Actor,
    ahead: Ahead | None = None,
) -> StandingApproval:
    """Makes a standing approval from a call that was just approved as its agent wrote it, in the same transaction.

    Args:
        asked: what it covers and for how long; without bounds, exactly the same call.
        ahead: what was read of the call before it was locked.

    Raises:
        Invalid: approvals of this call cannot stand (it was edited, a guardrail asks for it, …), its bounds are not as
            they should be or do not cover the call itself, or its end is no time to come.
    """
    found = today(call, ahead)
    if reason := _why_not(call, found):
        raise Invalid.at("/remember", f"This cannot be remembered. {reason}")
    at = now()
    (team_id,) = found.answer.team_ids
    made = StandingApproval(
        workspace_id=call.workspace_id,
        agent_id=call.agent_id,
        environment=call.run.environment,
        run=call.run if asked.scope == "run" else None,
        tool_name=call.tool_name,
        schema_fingerprint=found.tool.schema_fingerprint,
        digest=call.digest if asked.bounds == "exact" else "",
        bounds=_bounds(call, found, asked),
        owner=member,
        owner_name=actor.name,
        team_id=team_id,
        tool_call=call,
        request_number=request_number,
        until=_until(asked.until, at),
        max_uses=asked.uses,
    )
    made.save(force_insert=True)
    told = plain(made)
    if not told.may_decide:
        # A stand-in, or whom an escalation added: what they let stand would hold nothing by itself.
        raise Invalid.at(
            "/remember", f"This cannot be remembered: only a member of {made.team.name} may let it stand."
        )
    record(
        "standing.made",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=made.pk,
        data=StandingMade(
            number=request_number,
            tool=call.tool_name,
            schema_fingerprint=made.schema_fingerprint,
            digest=call.digest,
            bounds=rules.bounds_text(told),
            until=time_text(made.until),
            max_uses=made.max_uses,
        ),
    )
    return made


def _why_not(call: ToolCall, found: Today) -> str:
    if call.version > 1:
        return "Its arguments were edited, so what the agent wrote was not approved."
    return rules.why_not(found.answer)


def _bounds(call: ToolCall, found: Today, asked: wire.Remember) -> str:
    """The text of the bounds, checked against the tool's schema and against the call itself."""
    tree: dict[str, canonical.Tree] = {}
    if asked.when:
        tree["when"] = asked.when
    if asked.expression is not None:
        tree["expression"] = asked.expression
    if bool(tree) != (asked.bounds == "within"):
        raise Invalid.at("/remember/bounds", "Only “within” has conditions, and it needs one at least.")
    text = canonical.dumps(tree)
    try:
        rule = bounds_rule(tool=call.tool_name, bounds=text)
    except Invalid as error:
        errors = [{**one, "path": f"/remember{one['path']}"} for one in error.errors]
        raise Invalid(f"/remember{error.message}", errors=errors) from error
    if wrong := [{**one, "path": f"/remember{one['path']}"} for one in too_long_in(rule)]:
        raise Invalid(f"{wrong[0]['path']}: {wrong[0]['message']}", errors=wrong)
    described = Described(call.agent.name, call.tool_name, found.tool.schema)
    known = [described] if found.tool.schema else []
    if wrong := [{**one, "path": f"/remember{one['path']}"} for one in errors_of(rule, known)]:
        raise Invalid(f"{wrong[0]['path']}: {wrong[0]['message']}", errors=wrong)
    asking = call_of(found.facts, agent=call.agent, environment=call.run.environment, tools=frozenset())
    if failed := rules.decisive(list(parts(rule, asking))):
        raise Invalid.at("/remember", f"The call itself is outside these bounds: {failed.why}.")
    return text


def _until(until: datetime | None, at: datetime) -> datetime:
    if until is None:
        return at + timedelta(days=DEFAULT_DAYS)
    if not at < until <= at + timedelta(days=MOST_DAYS):
        raise Invalid.at("/remember/until", f"is no time to come within {MOST_DAYS} days")
    return until
