"""What all rules of a workspace would take just now, run by run and together. Writes nothing."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import Q

from reviewhub.checkpoints.models import Hold
from reviewhub.core import keyset
from reviewhub.retention.estimate import Estimate, estimate
from reviewhub.retention.rules import cost
from reviewhub.runs.models import Run


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How many runs were looked at, how many lose something, how many are under hold, and what goes of all."""

    runs: int = 0
    losing: int = 0
    held: int = 0
    goes: Estimate = field(default_factory=Estimate)
    is_cut: bool = False

    @property
    def cost(self) -> float:
        """What keeping that costs a month, by STORAGE_PRICES."""
        return cost(self.goes.sizes, settings.STORAGE_PRICES)


@dataclass(frozen=True)
class Looked:
    """Some runs, the oldest first, with what would go of each; `next` is where to go on, empty at the end."""

    runs: list[tuple[Run, Estimate]]
    next: str


def look(workspace_id: uuid.UUID, *, cursor: str = "", most: int = 50, seconds: float = 5.0) -> Looked:
    """A page of the dry run: one run at least, at most `most`, for about so many seconds.

    Raises:
        Invalid: the cursor is none of ours.
    """
    rows = Run.objects.filter(workspace_id=workspace_id)
    if cursor:
        at, last = keyset.place(cursor)
        rows = rows.filter(Q(created_at__gte=at) & (Q(created_at__gt=at) | Q(pk__gt=last)))
    until, more = time.monotonic() + seconds, False
    found: list[tuple[Run, Estimate]] = []
    for run in rows.order_by("created_at", "id")[: most + 1]:
        if found and (len(found) == most or time.monotonic() > until):
            more = True
            break
        found.append((run, estimate(run)))
    last_run = found[-1][0] if found else None
    onward = keyset.write([last_run.created_at.isoformat(), str(last_run.pk)]) if more and last_run else ""
    return Looked(found, onward)


def forecast(workspace_id: uuid.UUID, *, most: int | None = None) -> Forecast:
    """What a workspace would lose.

    Args:
        most: runs to look at, the oldest first; None for all. A page looks at few, the command at all.
    """
    rows = Run.objects.filter(workspace_id=workspace_id).order_by("created_at", "id")
    looked_at = rows if most is None else rows[:most]
    goes = [estimate(run) for run in looked_at.iterator(200)]
    return Forecast(
        runs=len(goes),
        losing=sum(not each.is_nothing for each in goes),
        held=Hold.objects.filter(run__workspace_id=workspace_id).count(),
        goes=sum(goes, Estimate()),
        is_cut=most is not None and len(goes) == most and rows.count() > most,
    )
