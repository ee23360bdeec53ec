"""The tool ended: how, with what result, and (in the same commit) the checkpoint after it."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.audit.record import record
from reviewhub.budgets.warned import warned
from reviewhub.checkpoints.draft import Draft, draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import saved_as
from reviewhub.checkpoints.save import StaleHead, save
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Conflict, ReviewHubError
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.gates.begin import Begin, begin_within
from reviewhub.gates.consume import Consumed
from reviewhub.gates.errors import BranchPaused, NotConsumed, OutcomeConflict
from reviewhub.gates.kinds import CallEnded, CallLateOutcome
from reviewhub.gates.look_later import look_later
from reviewhub.gates.open_verdicts import open_verdicts
from reviewhub.gates.present import outcome_out
from reviewhub.gates.present_budget import with_warnings
from reviewhub.gates.set_aside import setting_aside
from reviewhub.gates.unknown import open_unknown
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.reviews.conclude import conclude
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import newest_about
from reviewhub.reviews.states import RequestState
from reviewhub.runs.fence import check
from reviewhub.runs.states import OPEN_BRANCH, BranchState
from reviewhub.toolcalls.locks import Locked, lock, lock_call, lock_run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.settle import Answer
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, CallState, GrantState

AGAIN = (CallState.ALLOWED, CallState.WAITING)
"""What an attempt that is said not to have happened leaves behind: the call may run again, or is asked about again."""


@setting_aside()
def outcome(*, call_id: uuid.UUID, body: wire.OutcomeBody, actor: Actor) -> wire.OutcomeOut:
    """Records how a started call ended. Accepted on any branch in any state: what happened is always taken.

    A repeat with the same outcome answers the same. A checkpoint that comes along is saved in the same commit. When the
    branch takes none any more (superseded, ended, held by another process), the outcome is kept without it.

    Raises:
        NotConsumed: the call was never started.
        OutcomeConflict: another outcome is on record.
        StaleHead: the outcome is kept, the checkpoint is not: its parent is no longer the head.
        BranchPaused: the outcome is kept, the checkpoint is not: the branch waits for people, who look at its state.
        CorruptCheckpoint: the outcome is kept, the checkpoint is not: what it would stand on is damaged.
        StateMisfit: the outcome is kept, the checkpoint is not: the state is not what its schema says.
        Invalid, TooLarge: the outcome is kept, the checkpoint is not: it is not as it should be, see `draft`.
        CheckpointRemoved: the outcome is kept, the checkpoint is not: what it names was removed.
        BlobsAway: the outcome is kept, the checkpoint is not yet: what it would stand on cannot be read just now.
    """
    return outcome_and_begin(call_id=call_id, body=body, begin=None, actor=actor)[0]


@setting_aside()
def outcome_and_begin(
    *, call_id: uuid.UUID, body: wire.OutcomeBody, begin: Begin | None, actor: Actor
) -> tuple[wire.OutcomeOut, Consumed | None]:
    """The same, and the next call begins in that commit if it may run: its intent is on record with this end.

    Raises what `outcome` does.
    """
    call = ToolCall.objects.select_related("branch__run__agent").get(pk=call_id)
    made, problem = _drafted(call, body)
    digest = canonical.body_digest(_fact(body))
    begun: Consumed | None = None
    with transaction.atomic(durable=True):
        locked = lock_call(call_id)
        if begin is not None:
            # Before what an end touches: a branch that begins something takes them in this order, too.
            lock_run(call.run_id)
        repeated = locked.call.outcome_digest == digest
        waited = locked.branch.state == BranchState.PAUSED
        refusal: Conflict | None = _end(locked, body, digest, actor)
        saved = saved_as(locked.branch, made) if repeated and made is not None else None
        if refusal is None and made is not None and saved is None:
            saved, refusal = _save(locked, made, actor, waited)
        if refusal is None and begin is not None and begin.call_id is not None:
            begun = begin_within(call_id=begin.call_id, digest=begin.digest or "", begin=begin, actor=actor)
        faults.point("outcome.before_commit")
    faults.point("outcome.after_commit")
    if begun is not None:
        faults.point("consume.after_commit")
    failed = refusal or problem
    if failed is not None:
        raise failed
    found = warned(agent_id=call.agent_id, draft=made) if saved is not None and not repeated else []
    out = with_warnings(outcome_out(ToolCall.objects.get(pk=call_id), locked.branch, saved), found)
    return out, begun


def _drafted(call: ToolCall, body: wire.OutcomeBody) -> tuple[Draft | None, ReviewHubError | None]:
    """The checkpoint that comes along; or why there can be none, which keeps nobody from saying what happened."""
    if body.checkpoint is None:
        return None, None
    try:
        return draft(branch=call.branch, message=body.checkpoint), None
    except ReviewHubError as problem:
        return None, problem


def _fact(body: wire.OutcomeBody) -> dict[str, canonical.Tree]:
    """What two outcomes must share to be the same one."""
    given = body.to_tree()
    return {name: given[name] for name in ("status", "result", "error") if name in given}


def _save(
    locked: Locked, made: Draft, actor: Actor, waited: bool
) -> tuple[Checkpoint | None, Conflict | None]:
    """`waited` says whether the branch was paused before the outcome, which may have ended that or begun it."""
    attempt = locked.call.attempts.order_by("-number").first()
    try:
        check(locked.branch, (attempt.epoch if attempt else 0) or None)
    except Conflict:
        return None, None
    if waited and locked.branch.state == BranchState.PAUSED:
        # A sibling waits: what people look at, and what the run goes on from, stays as they were shown it.
        return None, BranchPaused(
            "The outcome is kept. Its branch waits for people: save the state afterwards."
        )
    try:
        with transaction.atomic():
            return save(branch=locked.branch, draft=made, actor=actor), None
    except StaleHead as stale:
        return None, stale


def end_call(locked: Locked, body: wire.OutcomeBody, actor: Actor) -> None:
    """Records, in the caller's transaction, how a locked started call ended; the agent may say the same once more."""
    conflict = _end(locked, body, canonical.body_digest(_fact(body)), actor)
    if conflict is not None:
        raise conflict


def _end(locked: Locked, body: wire.OutcomeBody, digest: str, actor: Actor) -> Conflict | None:
    call = locked.call
    if call.attempt == 0:
        raise NotConsumed
    if call.outcome_digest == digest:
        return None
    if body.attempt is None and call.attempt > 1:
        why = f"This call was started {call.attempt} times: name the attempt that ended."
        return _conflict(call, body, actor, why)
    if body.attempt is not None and body.attempt != call.attempt:
        return _conflict(call, body, actor)
    if call.state == CallState.UNKNOWN and body.status is not wire.OutcomeStatus.UNKNOWN:
        _late(locked, body, digest, actor)
        return None
    if call.state in AGAIN and body.status is wire.OutcomeStatus.SUCCEEDED:
        # A person said that it did not happen, and it did: nothing may run again.
        _late(locked, body, digest, actor)
        return None
    if call.state != CallState.STARTED:
        return _conflict(call, body, actor)
    if locked.branch.state in OPEN_BRANCH:
        acknowledge(branch=locked.branch)
    move(call, to=body.status.value, table=CALL_EDGES, **_fields(body, digest))
    if body.status is wire.OutcomeStatus.UNKNOWN:
        because = body.error or "The tool could not say whether it happened."
        open_unknown(locked=locked, because=because, actor=actor)
        return None
    record_end(call, body.status.value, actor)
    if body.status is wire.OutcomeStatus.SUCCEEDED:
        open_verdicts([call], judges="result")
    return None


def _late(locked: Locked, body: wire.OutcomeBody, digest: str, actor: Actor) -> None:
    """The tool's own word, while people were asked: it ends their request, or just the call when there is none."""
    call = locked.call
    pending = one_or_none(ReviewRequest.objects.filter(tool_call=call, state=RequestState.PENDING))
    if pending is None:
        for grant in lock(call.grants.filter(state=GrantState.OPEN)):
            move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
        move(call, to=body.status.value, table=CALL_EDGES, **_fields(body, digest))
    else:
        below = lock_request(pending.pk)
        happened = body.status is wire.OutcomeStatus.SUCCEEDED
        answer = Answer(
            type="happened" if happened else "withdraw",
            to=body.status.value,
            by=actor,
            message="The tool itself reported how it ended.",
            request_id=pending.pk,
        )
        conclude(locked=below, request=below.request, answer=answer, **_fields(body, digest))
        locked.call, locked.branch = below.call, below.branch
    record_end(locked.call, body.status.value, actor)


def _conflict(call: ToolCall, body: wire.OutcomeBody, actor: Actor, why: str = "") -> OutcomeConflict:
    """A second, different outcome changes nothing, but it is on record: somebody should know."""
    record(
        "call.late_outcome",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallLateOutcome(
            tool=call.tool_name, digest=call.digest, status=body.status.value, state=call.state
        ),
    )
    return OutcomeConflict(why, state=call.state)


def _fields(body: wire.OutcomeBody, digest: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"outcome_digest": digest, "ended_at": now(), "error": body.error}
    for name in ("result", "partial"):
        if body.was_given(name):
            fields[name] = canonical.dumps(getattr(body, name))
    return fields


def record_end(call: ToolCall, status: str, actor: Actor) -> None:
    """The event of an ended call; a sample of what nobody approved is drawn for a later look."""
    request_id, number = newest_about(call.pk)
    record(
        "call.ended",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        request_id=request_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallEnded(
            tool=call.tool_name,
            digest=call.digest,
            status=status,
            attempt=call.attempt,
            outcome=call.outcome_digest,
            number=number,
        ),
    )
    look_later(call)
