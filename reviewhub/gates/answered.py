"""What policy answered to new calls is written down: decisions and grants, denials, requests for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings

from reviewhub.accounts.models import Agent
from reviewhub.audit.record import Entry, record_many
from reviewhub.core.actors import Actor, policy
from reviewhub.gates.fresh import Written
from reviewhub.gates.kinds import CallAllowed, CallDenied
from reviewhub.gates.prepare import Prepared
from reviewhub.reviews.asked import approval
from reviewhub.reviews.asked_before import asked_before
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.request import request
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import Decision, Grant, ToolCall
from reviewhub.toolcalls.settle import Answer, decide_row, grant_row
from reviewhub.toolcalls.states import CallState


def write_answers(
    *,
    run: Run,
    agent: Agent,
    calls: Sequence[ToolCall],
    prepared: Sequence[Prepared],
    actor: Actor,
    at: datetime,
) -> Written:
    """Writes what follows from policy's answers, for calls that were just proposed in this transaction.

    Args:
        at: the database's time of this write.
    """
    at_once = [pair for pair in zip(calls, prepared, strict=True) if pair[0].state != CallState.WAITING]
    decisions, grants = _decide_at_once(at_once, at, settled=len(at_once) == len(calls))
    requests: list[ReviewRequest] = []
    asks = {one.proposal.likeness for one in prepared if one.proposal.state == CallState.WAITING}
    before = asked_before(run_id=run.pk, alike=asks)
    for call, one in zip(calls, prepared, strict=True):
        if call.state == CallState.WAITING:
            last = before.get(one.proposal.likeness)
            asked = approval(
                answer=one.answer,
                tool=one.tool,
                effect=one.proposal.effect,
                shown=one.shown,
                failed_checks=one.failed_checks,
                repeats=one.repeats,
            )
            asked = asked.after(last) if last is not None else asked
            requests.append(
                request(
                    call=call,
                    run=run,
                    agent=agent,
                    asked=asked,
                    actor=actor,
                    at=at,
                    state_hash=call.checkpoint.state_hash if call.checkpoint else "",
                )
            )
    return Written(decisions=decisions, grants=grants, requests=requests)


def _decide_at_once(
    pairs: Sequence[tuple[ToolCall, Prepared]], now: datetime, *, settled: bool
) -> tuple[list[Decision], list[Grant]]:
    """Decisions, grants and events of the calls that wait for nobody. A grant's time starts when no sibling waits."""
    decisions: list[Decision] = []
    grants: list[Grant] = []
    entries: list[Entry] = []
    for call, one in pairs:
        by = policy(one.answer.policy_version)
        allowed = call.state == CallState.ALLOWED
        answer = Answer(
            type="approve" if allowed else "deny",
            to=call.state,
            by=by,
            message=one.answer.text,
            policy_version=one.answer.policy_version,
            by_policy=True,
        )
        decision = decide_row(call=call, answer=answer, at=now)
        decisions.append(decision)
        if allowed:
            grant = grant_row(call=call, decision=decision, by_policy=True)
            if settled:
                grant.expires_at = now + timedelta(seconds=settings.GRANT_SECONDS)
            grants.append(grant)
        model = CallAllowed if allowed else CallDenied
        entries.append(
            Entry(
                kind="call.allowed" if allowed else "call.denied",
                workspace_id=call.workspace_id,
                actor=by,
                run_id=call.run_id,
                pause_id=call.pause_id,
                agent_id=call.agent_id,
                subject_id=call.pk,
                data=model(
                    tool=call.tool_name,
                    digest=call.digest,
                    because=one.answer.text,
                    policy_version=one.answer.policy_version,
                    checkpoint=call.checkpoint.state_hash if call.checkpoint else "",
                ),
                arguments=one.shown.text,
            )
        )
    Decision.objects.bulk_create(decisions)
    Grant.objects.bulk_create(grants)
    record_many(entries)
    return decisions, grants
