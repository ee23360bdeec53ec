"""The outline of a run: the checkpoints that matter one by one, what is between them as numbers from and to.

It costs what is shown, however long the run is: what is folded is never read.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from reviewhub.checkpoints.models import Checkpoint

FEW = 2
"""Checkpoints in a row from which on they are folded: one line that says "2 more" saves nothing."""


@dataclass(frozen=True)
class Span:
    """The checkpoints of a branch with numbers from `first` to `last`; some of them may have been removed."""

    branch_id: uuid.UUID
    first: int
    last: int


@dataclass(frozen=True)
class Outline:
    """What is shown of a run: single checkpoints, the newest first, and the spans between them."""

    rows: list[Checkpoint]
    folds: list[Span]


def outline(
    run_id: uuid.UUID,
    *,
    ids: Collection[uuid.UUID],
    begins: Collection[uuid.UUID],
    opened: Sequence[Span] = (),
) -> Outline:
    """An outline of the run; four queries.

    Args:
        ids: checkpoints to show; those of other runs, and removed ones, are left out.
        begins: branches whose first checkpoint is shown.
        opened: spans to show whole.
    """
    rows = _listed(run_id)
    found = list(rows.filter(pk__in=ids)) + list(rows.filter(branch_id__in=begins, number=1))
    found += _in(rows, opened)
    numbers: dict[uuid.UUID, set[int]] = {}
    for row in found:
        numbers.setdefault(row.branch_id, set()).add(row.number)
    short, folds = gaps(numbers)
    found += _in(rows, short)
    return Outline(
        rows=sorted({row.pk: row for row in found}.values(), key=lambda row: (row.created_at, row.pk))[::-1],
        folds=_closed(folds, opened),
    )


def gaps(numbers: Mapping[uuid.UUID, Collection[int]]) -> tuple[list[Span], list[Span]]:
    """What is between the numbers of each branch, from its first checkpoint on: short gaps, and those to fold."""
    short: list[Span] = []
    folds: list[Span] = []
    for branch_id, some in numbers.items():
        before = 0
        for number in sorted(some):
            if number - before > 1:
                span = Span(branch_id, before + 1, number - 1)
                (short if number - before - 1 <= FEW else folds).append(span)
            before = number
    return short, folds


def _closed(folds: Iterable[Span], opened: Sequence[Span]) -> list[Span]:
    """Folds without those inside of what is open: there every checkpoint is shown, and what is missing is gone."""
    return [
        fold
        for fold in folds
        if not any(
            fold.branch_id == span.branch_id and span.first <= fold.first and fold.last <= span.last
            for span in opened
        )
    ]


def _listed(run_id: uuid.UUID) -> QuerySet[Checkpoint]:
    rows = Checkpoint.objects.filter(run_id=run_id).select_related("branch", "state_schema")
    return rows.defer("content", "state_schema__schema")


def _in(rows: QuerySet[Checkpoint], spans: Sequence[Span]) -> list[Checkpoint]:
    wanted = Q(pk__in=[])
    for span in spans:
        wanted |= Q(branch_id=span.branch_id, number__gte=span.first, number__lte=span.last)
    return list(rows.filter(wanted)) if spans else []
