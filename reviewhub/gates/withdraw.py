"""An agent takes a tool call back."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.gates.errors import NotAllowed
from reviewhub.gates.kinds import CallCancelled
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.reviews.conclude import conclude
from reviewhub.reviews.lock import lock_request
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.fence import check_open
from reviewhub.toolcalls.locks import Locked, lock, lock_call
from reviewhub.toolcalls.models import Grant, ToolCall
from reviewhub.toolcalls.settle import Answer, decide_row
from reviewhub.toolcalls.states import CALL_EDGES, GRANT_EDGES, CallState, GrantState


@transaction.atomic(durable=True)
def withdraw(*, call_id: uuid.UUID, reason: str, actor: Actor) -> ToolCall:
    """Ends a waiting call, or one that is allowed and not started; withdrawing twice changes nothing.

    Raises:
        NotAllowed: the call is denied, running or over.
        Superseded, RunEnded: the branch takes no writes.
    """
    locked = lock_call(call_id)
    call = locked.call
    if call.state == CallState.SKIPPED:
        return call
    check_open(locked.branch)
    still_may(actor, Action.RUN_WRITE, Target(workspace_id=call.workspace_id, agent_id=call.agent_id))
    acknowledge(branch=locked.branch)
    pending = one_or_none(ReviewRequest.objects.filter(tool_call=call, state=RequestState.PENDING))
    if call.state == CallState.WAITING and pending is not None:
        below = lock_request(pending.pk)
        answer = Answer(
            type="withdraw", to=CallState.SKIPPED, by=actor, message=reason, request_id=pending.pk
        )
        conclude(locked=below, request=below.request, answer=answer)
        return below.call
    if call.state != CallState.ALLOWED:
        raise NotAllowed(f"This tool call is {call.state} and cannot be taken back.", state=call.state)
    _give_back(locked, reason, actor)
    return call


def _give_back(locked: Locked, reason: str, actor: Actor) -> None:
    call = locked.call
    grant = one_or_none(lock(Grant.objects.filter(tool_call=call, state=GrantState.OPEN)))
    if grant is not None:
        move(grant, to=GrantState.REVOKED, table=GRANT_EDGES)
    move(call, to=CallState.SKIPPED, table=CALL_EDGES)
    answer = Answer(type="withdraw", to=CallState.SKIPPED, by=actor, message=reason)
    decide_row(call=call, answer=answer, at=now()).save(force_insert=True)
    record(
        "call.cancelled",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallCancelled(tool=call.tool_name, digest=call.digest, type="withdraw"),
    )
