"""Nobody will be woken any more."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db import transaction

from reviewhub.core.clock import DbNow
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs.models import Branch


def abandon(*, branches: Collection[Branch | uuid.UUID]) -> int:
    """Abandons the open wakings of `branches` (cancelled, failed, superseded); returns how many there were.

    Runs in the caller's transaction with the branches locked. A worker that holds one of them finds its
    lease gone at its next write.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a state changes only inside a transaction")
    return (
        Resumption.objects.open()
        .filter(branch__in=branches)
        .update(state=ResumptionState.ABANDONED, ended_at=DbNow(), lease_until=None)
    )
