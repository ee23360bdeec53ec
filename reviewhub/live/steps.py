"""Runs that went on without an event of theirs: a checkpoint was saved, a step of the plan came to a status, or a child
run to another state.

None is on their record, so the tailer does not find them. Asked about the runs only that somebody looks at in this
process, and not more often than every LOOK_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from uuid import UUID

from django.db.models import Count

from reviewhub.live.hub import Hint
from reviewhub.plans.models import StepMark
from reviewhub.runs.models import Branch, Child

LOOK_SECONDS = 1.0
STEPPED = "run.stepped"
"""Kind of the hint; no event has it."""

Sight = tuple[frozenset[tuple[UUID, UUID | None]], int, frozenset[tuple[UUID, str]]]


class Steps:
    """What was seen of the watched runs last: heads of their branches, marks of their plans, and their children."""

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
    parents: list[UUID] = []
    branches = Branch.objects.filter(run_id__in=runs)
    for run, branch, head, is_parent in branches.values_list("run_id", "pk", "head", "has_children"):
        heads[run].add((branch, head))
        parents += [branch] if is_parent else []
    children = _children(parents)
    marks = StepMark.objects.filter(version__run_id__in=runs).order_by().values("version__run_id")
    counts = dict(marks.annotate(count=Count("number")).values_list("version__run_id", "count"))
    return {
        run: (frozenset(found), counts.get(run, 0), frozenset(children.get(run, ())))
        for run, found in heads.items()
    }


def _children(parents: Collection[UUID]) -> dict[UUID, list[tuple[UUID, str]]]:
    """By run, the branches of its children and their states."""
    found: dict[UUID, list[tuple[UUID, str]]] = {}
    if parents:
        rows = Child.objects.filter(parent_branch__in=parents)
        for run, branch, state in rows.values_list("parent_branch__run_id", "branch_id", "branch__state"):
            found.setdefault(run, []).append((branch, state))
    return found
