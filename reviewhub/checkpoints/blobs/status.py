"""How the blob stores stand, for admins: what is in them, what is behind, what fails. Asks no store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Length

from reviewhub.checkpoints.blobs.stores import shown
from reviewhub.checkpoints.models import Blob, Leftover, StoreState
from reviewhub.core.clock import DbNow
from reviewhub.runs.rules import ENDED


@dataclass(frozen=True)
class Many:
    """Blobs and their bytes, packed."""

    blobs: int
    bytes: int


@dataclass(frozen=True)
class Standing:
    """One store. `address` has no credentials; empty for one that settings name no more."""

    name: str
    address: str
    kept: Many
    overdue: int
    ok_at: datetime | None
    failing_since: datetime | None
    problem: str


def waiting() -> Many:
    """Large blobs of runs that ended, which are still in the database: what moving is behind with."""
    rows = Blob.objects.filter(data__isnull=False, run__state__in=ENDED).annotate(packed=Length("data"))
    return _many(rows.filter(packed__gte=settings.BLOB_LARGE_BYTES), "packed")


def standing() -> list[Standing]:
    """Every store that settings name or that was used."""
    states = {row.name: row for row in StoreState.objects.all()}
    names = [*settings.BLOB_STORES, *sorted(states.keys() - settings.BLOB_STORES.keys())]
    return [_of(name, states.get(name) or StoreState(name=name)) for name in names]


def _of(name: str, state: StoreState) -> Standing:
    below = f"{name}/"
    return Standing(
        name=name,
        address=shown(settings.BLOB_STORES.get(name, "")),
        kept=_many(Blob.objects.filter(location__startswith=below), "size"),
        overdue=Leftover.objects.filter(location__startswith=below, due_at__lte=DbNow()).count(),
        ok_at=state.ok_at,
        failing_since=state.failing_since,
        problem=state.problem,
    )


def _many(rows: QuerySet[Blob], size: str) -> Many:
    found = rows.aggregate(blobs=Count("hash"), weight=Sum(size))
    return Many(found["blobs"], found["weight"] or 0)
