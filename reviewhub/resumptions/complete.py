"""A waking has done its work."""

from __future__ import annotations

from django.db import transaction

from reviewhub.core.clock import DbNow
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import ResumptionState


def complete(*, resumption: Resumption) -> bool:
    """Ends a claimed waking as done, in the transaction in which its branch pauses or ends.

    Returns:
        False when it is not this holder's any more (abandoned, or claimed again after its lease ran out).
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a state changes only inside a transaction")
    held = Resumption.objects.filter(
        pk=resumption.pk, state=ResumptionState.CLAIMED, attempts=resumption.attempts
    )
    return held.update(state=ResumptionState.DONE, ended_at=DbNow(), lease_until=None) == 1
