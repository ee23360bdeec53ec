"""Reads of wakings."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from reviewhub.accounts.models import AgentKey
from reviewhub.core.clock import DbNow
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs.queries import runs_of


def open_for(key: AgentKey) -> QuerySet[Resumption]:
    """What a polling agent may go on with by this key, the oldest first, each with branch, run and pause loaded."""
    rows = Resumption.objects.filter(
        kind="poll", state=ResumptionState.QUEUED, branch__run__in=runs_of(key), due_at__lte=DbNow()
    )
    return rows.select_related("branch__run", "pause").order_by("due_at", "id")


def claimable() -> QuerySet[Resumption]:
    """Hosted wakings that a worker may take now: due and queued, or claimed with a lease that ran out."""
    return Resumption.objects.filter(
        Q(state=ResumptionState.QUEUED, due_at__lte=DbNow())
        | Q(state=ResumptionState.CLAIMED, lease_until__lte=DbNow()),
        kind="hosted",
    ).order_by("due_at", "id")
