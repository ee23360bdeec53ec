"""Reads of wakings."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import DbNow
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import ResumptionState


def open_for(agent: Agent, *, environment: str | None = None) -> QuerySet[Resumption]:
    """What a polling agent may go on with, the oldest first, each with branch, run and pause loaded.

    Args:
        environment: only runs of this environment (that of the key that asks); None means all.
    """
    rows = Resumption.objects.filter(
        kind="poll", state=ResumptionState.QUEUED, branch__run__agent=agent, due_at__lte=DbNow()
    )
    if environment is not None:
        rows = rows.filter(branch__run__environment=environment)
    return rows.select_related("branch__run", "pause").order_by("due_at", "id")


def claimable() -> QuerySet[Resumption]:
    """Hosted wakings that a worker may take now: due and queued, or claimed with a lease that ran out."""
    return Resumption.objects.filter(
        Q(state=ResumptionState.QUEUED, due_at__lte=DbNow())
        | Q(state=ResumptionState.CLAIMED, lease_until__lte=DbNow()),
        kind="hosted",
    ).order_by("due_at", "id")
