"""A tool call gets its final answer: state, decision, grant, and one open call less in its pause."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.toolcalls.locks import Locked
from reviewhub.toolcalls.models import Decision, Grant, Pause, ToolCall
from reviewhub.toolcalls.states import CALL_EDGES, PAUSE_EDGES, CallState, GrantState, PauseState


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was decided about a call."""

    type: str
    to: str
    by: Actor
    message: str = ""
    note: str = ""
    value: str | None = None
    request_id: uuid.UUID | None = None
    policy_version: int = 0
    by_policy: bool = False


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What came of it. `pause_settled` is true for exactly one answer of a settlement: that one wakes the branch."""

    decision: Decision
    grant: Grant | None
    pause_settled: bool


def settle(*, locked: Locked, answer: Answer, at: datetime | None = None, **call_fields: Any) -> Settled:
    """Gives a locked call its answer.

    Args:
        locked: the call with its pause and branch, all locked.
        at: when that is, by the database's clock; now when left out.
        call_fields: further columns of the call that change with its state (a result, an end).

    Raises:
        IllegalTransition, StaleState: the call cannot be answered (any more).
    """
    call = locked.call
    now = at or clock.now()
    if answer.to == CallState.ALLOWED and locked.branch.state not in OPEN_BRANCH:
        # Nobody goes on with a branch that ended: the call did not happen, and will not.
        answer = replace(answer, to=CallState.SKIPPED)
    move(call, to=answer.to, table=CALL_EDGES, **call_fields)
    decision = decide_row(call=call, answer=answer, at=now)
    decision.save(force_insert=True)
    grant = None
    if answer.to == CallState.ALLOWED:
        grant = grant_row(call=call, decision=decision, by_policy=answer.by_policy)
        grant.save(force_insert=True)
    pause_settled = locked.pause is not None and close_one(locked.pause, at=now)
    return Settled(decision=decision, grant=grant, pause_settled=pause_settled)


def decide_row(*, call: ToolCall, answer: Answer, at: datetime) -> Decision:
    """An unsaved decision on the call's current version."""
    return Decision(
        workspace_id=call.workspace_id,
        tool_call=call,
        request_id=answer.request_id,
        type=answer.type,
        version=call.version,
        digest=call.digest,
        by_kind=answer.by.kind,
        by_id=answer.by.id,
        by_name=answer.by.name,
        message=answer.message,
        note=answer.note,
        value=answer.value,
        policy_version=answer.policy_version,
        decided_at=at,
    )


def grant_row(*, call: ToolCall, decision: Decision, by_policy: bool) -> Grant:
    """An unsaved grant for exactly the call's current version."""
    return Grant(
        workspace_id=call.workspace_id,
        tool_call=call,
        decision=decision,
        version=call.version,
        digest=call.digest,
        by_policy=by_policy,
    )


def close_one(pause: Pause, *, at: datetime) -> bool:
    """One call of a locked pause waits no more; true when it was the last.

    A settled pause is left alone: the unknown calls of an ended branch are not counted in it.
    """
    if pause.state != PauseState.WAITING:
        return False
    if pause.open_calls > 1:
        Pause.objects.filter(pk=pause.pk).update(open_calls=pause.open_calls - 1)
        pause.open_calls -= 1
        return False
    move(pause, to=PauseState.SETTLED, table=PAUSE_EDGES, open_calls=0, settled_at=at)
    _start_grants(pause, at=at)
    return True


def _start_grants(pause: Pause, *, at: datetime) -> None:
    Grant.objects.filter(tool_call__pause=pause, state=GrantState.OPEN, expires_at__isnull=True).update(
        expires_at=at + timedelta(seconds=settings.GRANT_SECONDS)
    )
