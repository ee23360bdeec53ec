"""The end of a review request, however it comes: by people, by time, by the run's end, or by the tool's own word.

Every outcome goes through here, so each has the same record, the same event and the same wake-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewhub.audit.record import record
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.reviews.displayed import displayed
from reviewhub.reviews.kinds import RequestDecided
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import REQUEST_EDGES, RequestState
from reviewhub.runs.derive import derive
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import Locked
from reviewhub.toolcalls.models import CallVersion, Decision
from reviewhub.toolcalls.settle import Answer, settle
from reviewhub.toolcalls.states import CallState

REQUEST_STATE: Mapping[str, RequestState] = {
    "approve": RequestState.APPROVED,
    "edit": RequestState.EDITED,
    "reject": RequestState.REJECTED,
    "respond": RequestState.RESPONDED,
    "expire": RequestState.EXPIRED,
    "withdraw": RequestState.WITHDRAWN,
    "cancel": RequestState.CANCELLED,
    "happened": RequestState.HAPPENED,
    "did_not_happen": RequestState.DID_NOT_HAPPEN,
    "skip": RequestState.SKIPPED,
}
CALL_STATE: Mapping[str, CallState] = {
    "approve": CallState.ALLOWED,
    "edit": CallState.ALLOWED,
    "did_not_happen": CallState.ALLOWED,
    "reject": CallState.DENIED,
    "expire": CallState.DENIED,
    "respond": CallState.SKIPPED,
    "withdraw": CallState.SKIPPED,
    "cancel": CallState.SKIPPED,
    "skip": CallState.SKIPPED,
    "happened": CallState.SUCCEEDED,
}


def conclude(
    *,
    locked: Locked,
    request: ReviewRequest,
    answer: Answer,
    where: Mapping[str, Any] | None = None,
    wake: bool = True,
    **call_fields: Any,
) -> Decision:
    """Makes a locked pending request final, settles its call, and wakes the branch when nothing waits any more.

    Args:
        where: further conditions of the guarded UPDATE, such as the deadline.
        wake: false when the branch itself ends in the same transaction.
        call_fields: columns of the call that change along (the result of an action that happened).

    Raises:
        StaleState, IllegalTransition: somebody else was first, or `where` does not hold.
    """
    at = now()
    made = (
        CallVersion.objects.get(tool_call=locked.call, version=request.version)
        if answer.type == "edit"
        else None
    )
    move(
        request,
        to=REQUEST_STATE[answer.type],
        table=REQUEST_EDGES,
        where=where,
        decided_at=at,
        decided_by_name=answer.by.name,
        edited_by_name=made.author_name if made else "",
        claimed_by=None,
        claimed_until=None,
    )
    settled = settle(locked=locked, answer=answer, at=at, **call_fields)
    record(
        "request.decided",
        workspace_id=request.workspace_id,
        actor=answer.by,
        run_id=request.run_id,
        pause_id=locked.call.pause_id,
        request_id=request.pk,
        agent_id=request.agent_id,
        subject_id=locked.call.pk,
        data=RequestDecided(
            number=request.number,
            type=answer.type,
            edited_by=made.author_name if made and made.author_id != answer.by.id else "",
            sentence=request.plain_sentence,
            tool=request.tool_name,
            version=request.version,
            digest=request.digest,
            message=answer.message,
            note=answer.note,
            policy_version=answer.policy_version,
            waited_ms=int((at - request.created_at).total_seconds() * 1000),
            displayed=displayed(request),
            checkpoint=locked.state_hash,
        ),
    )
    if settled.pause_settled and wake:
        wake_branch(locked)
    return settled.decision


def wake_branch(locked: Locked) -> None:
    """The last open call of a pause was answered: the branch resumes, by an outbox row in this transaction."""
    if locked.pause is None or locked.branch.state != BranchState.PAUSED:
        return
    enqueue(branch=locked.branch, pause=locked.pause, kind=locked.pause.resume_kind)
    derive(locked.branch.run_id)
