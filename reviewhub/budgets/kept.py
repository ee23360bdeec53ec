"""What runs keep in the database: how many checkpoints, and the bytes of their rows and blobs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Sum
from django.db.models.functions import Length

from reviewhub.budgets.line import BLOB_BYTES
from reviewhub.checkpoints.models import Blob, Checkpoint


@dataclass(frozen=True)
class Kept:
    """Of one run: its checkpoints, and the bytes of their contents and of its blobs, wherever those are."""

    checkpoints: int
    bytes: int

    @property
    def by_checkpoint(self) -> int:
        """Bytes that a checkpoint takes on average."""
        return self.bytes // max(self.checkpoints, 1)


def kept(run_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Kept]:
    """What each of these runs keeps. Costs a pass over their rows; no content is read."""
    rows = Checkpoint.objects.filter(run_id__in=run_ids).order_by().values_list("run_id")
    counted = rows.annotate(many=Count("id"), size=Sum(Length("content")))
    counts = {run_id: (many, size) for run_id, many, size in counted}
    blobs = Blob.objects.filter(run_id__in=run_ids).order_by().values_list("run_id")
    sizes: dict[uuid.UUID, int] = dict(blobs.annotate(size=Sum(BLOB_BYTES)))
    return {
        run_id: Kept(many, size + sizes.get(run_id, 0))
        for run_id in run_ids
        for many, size in [counts.get(run_id, (0, 0))]
    }
