"""Looks at the runs whose turn it is, the longest unseen first. Stopped at any moment, the next one goes on there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet

from reviewhub.core import clock
from reviewhub.core.sweeps import each, until
from reviewhub.retention.attempt import attempt
from reviewhub.retention.estimate import Estimate
from reviewhub.retention.models import Progress
from reviewhub.runs.models import Run

EVERY = timedelta(days=1)
"""How often a run is looked at."""
SECONDS = 20
"""About how long one sweep takes at most."""
_AT_ONCE = 100


def sweep() -> Estimate:
    """Prunes runs that nobody has looked at for a day, for at most about SECONDS; how much went."""
    done: list[Estimate] = []

    def look(run: Run) -> int:
        done.append(attempt(run) or Estimate())
        return 1

    each(look, until(_some(due()), seconds=SECONDS))
    return sum(done, Estimate())


def due() -> QuerySet[Run]:
    """The runs whose turn it is, the oldest first."""
    seen = Progress.objects.filter(run=OuterRef("pk"), seen_at__gt=clock.now() - EVERY)
    return Run.objects.filter(~Exists(seen), erased_at__isnull=True).order_by("created_at", "id")


def _some(runs: QuerySet[Run]) -> Iterator[Run]:
    return iter(runs[:_AT_ONCE])
