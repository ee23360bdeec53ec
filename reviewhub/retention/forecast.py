"""What all rules of a workspace would take just now, run by run and together. Writes nothing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.conf import settings

from reviewhub.checkpoints.models import Hold
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
