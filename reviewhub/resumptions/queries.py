"""Reads of wakings."""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet

from reviewhub.accounts.models import AgentKey
from reviewhub.core.clock import DbNow
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs.queries import runs_of


def open_for(key: AgentKey) -> QuerySet[Resumption]:
    """What a polling agent may go on with by this key, the oldest first, each with branch, run and pause loaded."""
    rows = Resumption.objects.filter(
        kind="poll",
        state=ResumptionState.QUEUED,
        branch__run__in=runs_of(key),
        due_at__lte=DbNow(),
        branch__is_halted=False,
    )
    return rows.select_related("branch__run", "pause").order_by("due_at", "id")


def claimable() -> QuerySet[Resumption]:
    """Hosted wakings that a worker may take now: due and queued, or claimed with a lease that ran out; not halted."""
    return Resumption.objects.filter(
        Q(state=ResumptionState.QUEUED, due_at__lte=DbNow())
        | Q(state=ResumptionState.CLAIMED, lease_until__lte=DbNow()),
        kind="hosted",
        branch__is_halted=False,
    ).order_by("due_at", "id")


def failures_of(run_id: uuid.UUID, *, most: int) -> list[Failure]:
    """What went wrong with the attempts of a run, the newest first, each with its branch loaded."""
    rows = Failure.objects.filter(resumption__branch__run_id=run_id).select_related("resumption__branch")
    return list(rows.order_by("-at", "-pk")[:most])
