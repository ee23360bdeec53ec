"""What the agents that workers carry on did with their time, over some days."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Sum

from reviewhub.insights.figures import Asked
from reviewhub.insights.models import Worked

MICRO = 1_000_000
_TIMES = ("useful", "replay", "recovery", "overhead")
_COUNTS = ("losses", "paid", "spared")


@dataclass(frozen=True, kw_only=True)
class Work:
    """Seconds by kind, losses, and tokens: paid to models, and spared since answers were found again on resuming."""

    useful: float = 0.0
    replay: float = 0.0
    recovery: float = 0.0
    overhead: float = 0.0
    losses: int = 0
    paid: int = 0
    spared: int = 0

    @property
    def counted(self) -> float:
        """Seconds that were worked, whatever for."""
        return float(sum(getattr(self, name) for name in _TIMES))

    @property
    def progress(self) -> float | None:
        """The useful share; None without any work."""
        return self.useful / self.counted if self.counted else None


def work(asked: Asked, *, is_before: bool = False) -> dict[uuid.UUID, Work]:
    """The figures by agent, the busiest first.

    Args:
        is_before: those of as many days before.
    """
    first, last = (asked.before, asked.first) if is_before else (asked.first, asked.last)
    rows = Worked.objects.filter(workspace_id=asked.workspace_id, day__gte=first)
    rows = rows.filter(day__lt=last) if is_before else rows.filter(day__lte=last)
    if asked.agent is not None:
        rows = rows.filter(agent=asked.agent)
    sums = {f"all_{name}": Sum(f"{name}_us") for name in _TIMES}
    sums |= {f"all_{name}": Sum(name) for name in _COUNTS}
    found: dict[uuid.UUID, Work] = {}
    for key, *values in rows.order_by().values_list("agent").annotate(**sums):
        times = [value / MICRO for value in values[: len(_TIMES)]]
        counts = values[len(_TIMES) :]
        found[key] = Work(**dict(zip((*_TIMES, *_COUNTS), (*times, *counts), strict=True)))
    return dict(sorted(found.items(), key=lambda pair: (-pair[1].useful, str(pair[0]))))


def all_work(found: dict[uuid.UUID, Work]) -> Work:
    """All agents as one."""
    names = (*_TIMES, *_COUNTS)
    return Work(**{name: sum(getattr(one, name) for one in found.values()) for name in names})
