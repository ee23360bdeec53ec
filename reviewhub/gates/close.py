"""A branch ends (cancelled, failed, superseded): what still waited in it ends with it.

Waiting requests become cancelled or withdrawn with their votes on record, open grants are revoked, queued resumptions
abandoned. Requests that ask whether something happened survive: the question does not go away with the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.gates.child_ended import child_ended
from reviewhub.gates.kinds import CallCancelled
from reviewhub.resumptions.abandon import abandon
from reviewhub.reviews.conclude import CALL_STATE, conclude
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES
from reviewhub.toolcalls.locks import lock
from reviewhub.toolcalls.models import Grant, Pause, ToolCall
from reviewhub.toolcalls.settle import Answer, decide_row
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, PAUSE_EDGES, CallState, GrantState, PauseState


@dataclass(frozen=True, kw_only=True)
class Closed:
    """What ended with the branch."""

    requests: int
    grants: int


def close(
    *, branch: Branch, to: str, by: Actor, type_: str, message: str, said: str | None = None, **fields: Any
) -> Closed:
    """Ends a locked open branch in state `to`.

    Args:
        type_: the decision that its waiting calls get, `cancel` or `withdraw`.
        said: what a branch that waits for this one is told: the result's text of one that succeeded, else why it
            ended; `message` when left out.
        fields: further columns of the branch.

    What it started as children is the caller's to end (`end_children`).
    """
    requests = _end_requests(branch, by, type_, message)
    _settle_pause(branch)
    grants = _revoke_grants(branch, by, type_, message)
    abandon(branches=[branch.pk])
    move(
        branch,
        to=to,
        table=BRANCH_EDGES,
        epoch=branch.epoch + 1,
        lease_owner="",
        lease_until=None,
        ended_at=now(),
        **fields,
    )
    child_ended(branch=branch, to=to, said=message if said is None else said)
    return Closed(requests=requests, grants=grants)


def _end_requests(branch: Branch, by: Actor, type_: str, message: str) -> int:
    pending = ReviewRequest.objects.filter(
        branch=branch, state=RequestState.PENDING, kind=ReviewRequest.Kind.APPROVAL
    ).order_by("tool_call_id")
    ended = 0
    for request_id in pending.values_list("pk", flat=True):
        locked = lock_request(request_id)
        if locked.request.state != RequestState.PENDING:
            continue
        answer = Answer(type=type_, to=CALL_STATE[type_], by=by, message=message, request_id=request_id)
        conclude(locked=locked, request=locked.request, answer=answer, wake=False)
        ended += 1
    return ended


def _settle_pause(branch: Branch) -> None:
    """A pause that is still open counts unknown calls only; they stay with people, the pause does not wait for them."""
    pause = one_or_none(lock(Pause.objects.filter(branch=branch, state=PauseState.WAITING)))
    if pause is not None:
        move(pause, to=PauseState.SETTLED, table=PAUSE_EDGES, open_calls=0, settled_at=now())


def _revoke_grants(branch: Branch, by: Actor, type_: str, message: str) -> int:
    calls = lock(ToolCall.objects.filter(branch=branch, state=CallState.ALLOWED).order_by("pk"))
    revoked = 0
    for call in calls:
        grant = one_or_none(lock(Grant.objects.filter(tool_call=call, state=GrantState.OPEN)))
        if grant is not None:
            move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
            revoked += 1
        move(call, to=CallState.SKIPPED, table=CALL_EDGES)
        answer = Answer(type=type_, to=CallState.SKIPPED, by=by, message=message)
        decide_row(call=call, answer=answer, at=now()).save(force_insert=True)
        record(
            "call.cancelled",
            workspace_id=call.workspace_id,
            actor=by,
            run_id=call.run_id,
            pause_id=call.pause_id,
            agent_id=call.agent_id,
            subject_id=call.pk,
            data=CallCancelled(tool=call.tool_name, digest=call.digest, type=type_),
        )
    return revoked
