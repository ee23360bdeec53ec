"""What pruning a run would take away: how many rows, how many bytes, where they lie. Writes nothing."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models.functions import Length

from reviewhub.checkpoints.models import Blob, Hold
from reviewhub.checkpoints.named import named
from reviewhub.checkpoints.remove import DATABASE, Load
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.core import clock
from reviewhub.retention.models import Progress
from reviewhub.retention.rules import cost
from reviewhub.retention.survey import limits_of, survey
from reviewhub.runs.models import Run


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Rows and stored bytes. What rows and indexes weigh besides their contents is left out."""

    checkpoints: int = 0
    blobs: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Tier → bytes."""

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            checkpoints=self.checkpoints + other.checkpoints,
            blobs=self.blobs + other.blobs,
            sizes=dict(Counter(self.sizes) + Counter(other.sizes)),
        )

    @property
    def is_nothing(self) -> bool:
        """Whether nothing goes."""
        return not (self.checkpoints or self.blobs)

    @property
    def bytes(self) -> int:
        """In all tiers."""
        return sum(self.sizes.values())

    @property
    def cost(self) -> float:
        """What keeping it costs a month, by STORAGE_PRICES."""
        return cost(self.sizes, settings.STORAGE_PRICES)

    @classmethod
    def of(cls, load: Load) -> Estimate:
        """What one transaction takes away."""
        return cls(checkpoints=len(load.checkpoints), blobs=len(load.blobs), sizes=load.sizes)


def estimate(run: Run) -> Estimate:
    """What `prune` would remove from a run just now."""
    if Hold.objects.filter(run=run).exists():
        return Estimate()
    found = survey(run, limits=limits_of(run), at=clock.now())
    left = Progress.objects.filter(run=run, blobs_due=True).exists()
    blobs: dict[bytes, dict[str, int]] = {}
    if found.going or left:
        try:
            names = named(run.pk, without={row.id for row in found.going}).hashes
            blobs = dict(unnamed(run.pk, names))
        except BrokenCheckpoint:
            pass  # Then `prune` leaves the blobs alone, too.
    return Estimate.of(Load(checkpoints=found.going, blobs=blobs))


def unnamed(run_id: uuid.UUID, names: Collection[bytes]) -> list[tuple[bytes, dict[str, int]]]:
    """The blobs of a run that are not among `names`, with their stored bytes by tier."""
    rows = Blob.objects.filter(run_id=run_id).annotate(here=Length("data")).order_by("hash")
    columns = rows.values_list("hash", "here", "location", "size")
    return [
        (bytes(hash_), _sizes(here, location, size))
        for hash_, here, location, size in columns.iterator(2000)
        if bytes(hash_) not in names
    ]


def _sizes(here: int | None, location: str | None, size: int | None) -> dict[str, int]:
    sizes = {DATABASE: here} if here is not None else {}
    if location is not None and size is not None:
        sizes[location.partition("/")[0]] = size
    return sizes
