"""A call started, and nobody knows whether it happened: never run again by itself, never believed; a person says."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import transaction

from reviewhub.audit.record import record
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.gates.ask_again import ask_again
from reviewhub.gates.kinds import CallUnknown
from reviewhub.policies.rules import Requirement
from reviewhub.reviews.asked import unknown_outcome
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.toolcalls.locks import Locked, lock_call
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.queries import arguments_of
from reviewhub.toolcalls.states import CALL_EDGES, CallState
from reviewhub.tools.models import Effect, Tool
from reviewhub.tools.shown import shown

BATCH = 200


def due() -> list[uuid.UUID]:
    """Started `once` calls without an outcome by their tool's time limit, or whose holder's lease ran out."""
    at = now()
    started = ToolCall.objects.filter(state=CallState.STARTED, effect=Effect.ONCE).select_related("branch")
    late = [call.pk for call in started.order_by("started_at").iterator(BATCH) if _is_lost(call, at)]
    return late[:BATCH]


@transaction.atomic
def unknown(*, call_id: uuid.UUID) -> bool:
    """Declares one started call unknown and asks a person; false when its outcome came meanwhile."""
    locked = lock_call(call_id)
    call = locked.call
    call.branch = locked.branch
    if call.state != CallState.STARTED or not _is_lost(call, now()):
        return False
    move(call, to=CallState.UNKNOWN, table=CALL_EDGES)
    open_unknown(locked=locked, because=_why(call, now()), actor=SYSTEM)
    return True


def open_unknown(*, locked: Locked, because: str, actor: Actor) -> None:
    """Asks people about a locked call that is unknown already, in the caller's transaction."""
    call = locked.call
    tool = Tool.objects.get(agent_id=call.agent_id, name=call.tool_name)
    record(
        "call.unknown",
        workspace_id=call.workspace_id,
        actor=actor,
        run_id=call.run_id,
        pause_id=call.pause_id,
        agent_id=call.agent_id,
        subject_id=call.pk,
        data=CallUnknown(tool=call.tool_name, digest=call.digest, because=because),
    )
    asked = unknown_outcome(
        agent=call.agent,
        tool=tool,
        effect=call.effect,
        shown=shown(tool, arguments_of(call)),
        because=because,
        approved_on=_approved_on(call),
        was_let_run=not call.ran_without_approval,
    )
    ask_again(locked=locked, asked=asked, because=because, actor=actor)


def _approved_on(call: ToolCall) -> Requirement | None:
    """What the last approval of a call asked for; None where people were not asked."""
    rows = ReviewRequest.objects.filter(tool_call=call, kind=ReviewRequest.Kind.APPROVAL)
    last = rows.order_by("-number").first()
    return Stored.model_validate_json(last.requirement).requirement if last else None


def _is_lost(call: ToolCall, at: datetime) -> bool:
    return bool(_why(call, at))


def _why(call: ToolCall, at: datetime) -> str:
    """Why a started call counts as lost; empty while it may still be running."""
    started = call.started_at or at
    if at >= started + timedelta(seconds=call.time_limit_seconds):
        return f"No outcome within the tool's time limit of {call.time_limit_seconds} s."
    lease = call.branch.lease_until
    if lease is not None and lease <= at:
        return "The process that started it has not been heard of since its lease ran out."
    return ""
