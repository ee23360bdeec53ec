"""Runs that went on without an event: a checkpoint was saved, or a step of the plan came to a status.

Neither is on record, so the tailer does not find them. Asked about the runs only that somebody looks at in this
process, and not more often than every LOOK_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from uuid import UUID

from django.db.models import Count

from reviewhub.live.hub import Hint
from reviewhub.plans.models import StepMark
from reviewhub.runs.models import Branch

LOOK_SECONDS = 1.0
STEPPED = "run.stepped"
"""Kind of the hint; no event has it."""

Sight = tuple[frozenset[tuple[UUID, UUID | None]], int]


class Steps:
    """What was seen of the watched runs last: the heads of their branches, and how many marks their plans have."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seen: dict[UUID, Sight] = {}
        self._clock = clock
        self._next = 0.0

    def look(self, watched: Collection[UUID]) -> list[Hint]:
        """A hint for each watched run that went on since the last look; none for one that is looked at first."""
        if not watched:
            self._seen = {}
            return []
        if self._clock() < self._next:
            return []
        self._next = self._clock() + LOOK_SECONDS
        known, self._seen = self._seen, _sights(watched)
        return [
            Hint(event_id=0, kind=STEPPED, run_id=run)
            for run, sight in self._seen.items()
            if run in known and known[run] != sight
        ]


def _sights(runs: Collection[UUID]) -> dict[UUID, Sight]:
    heads: dict[UUID, set[tuple[UUID, UUID | None]]] = {run: set() for run in runs}
    for run, branch, head in Branch.objects.filter(run_id__in=runs).values_list("run_id", "pk", "head"):
        heads[run].add((branch, head))
    marks = StepMark.objects.filter(version__run_id__in=runs).order_by().values("version__run_id")
    counts = dict(marks.annotate(count=Count("number")).values_list("version__run_id", "count"))
    return {run: (frozenset(found), counts.get(run, 0)) for run, found in heads.items()}
