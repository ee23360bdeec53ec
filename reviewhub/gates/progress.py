"""A running tool says how far it is; kept for whoever recovers it."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.gates.errors import NotConsumed
from reviewhub.toolcalls.locks import lock_call
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState


@transaction.atomic(durable=True)
def progress(*, call_id: uuid.UUID, partial: str) -> ToolCall:
    """Keeps a partial result (canonical JSON text) of a started call, on any branch in any state.

    Raises:
        NotConsumed: the call is not running.
    """
    locked = lock_call(call_id)
    if locked.call.state not in (CallState.STARTED, CallState.UNKNOWN):
        raise NotConsumed(f"This tool call is {locked.call.state}; only a running one has progress.")
    ToolCall.objects.filter(pk=call_id).update(partial=partial)
    return locked.call
