"""How far an export has come: counted where it is written, kept where whoever waits for it can look."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reviewhub.audit.models import Export
from reviewhub.core import clock

EVERY: Final = 0.5
"""Seconds between two notes."""
KEPT: Final = timedelta(days=1)


@dataclass
class Progress:
    """Entries written, and which part of all that is (0 to 1), as far as it can be told."""

    entries: int = 0
    part: float = 0.0

    def wrote(self, part: float) -> None:
        """One entry more; `part` is where it stands between the first and the last."""
        self.entries += 1
        self.part = min(max(part, 0.0), 1.0)

    @property
    def thousandths(self) -> int:
        """The part in whole numbers."""
        return int(self.part * 1000)


def noted(
    lines: Iterator[bytes],
    progress: Progress,
    *,
    export_id: uuid.UUID,
    workspace_id: uuid.UUID,
    actor_id: uuid.UUID,
) -> Iterator[bytes]:
    """The same lines, with a note of how far they have come; one that is broken off never ends."""
    begun = clock.now()
    Export.objects.filter(begun_at__lt=begun - KEPT).delete()
    fields = {"entries": 0, "thousandths": 0, "begun_at": begun, "ended_at": None}
    mine = Export.objects.filter(pk=export_id, workspace_id=workspace_id, actor_id=actor_id)
    if not mine.update(**fields):
        Export.objects.bulk_create(
            [Export(pk=export_id, workspace_id=workspace_id, actor_id=actor_id, **fields)],
            ignore_conflicts=True,
        )
    last = time.monotonic()
    for line in lines:
        yield line
        if time.monotonic() - last > EVERY:
            mine.update(entries=progress.entries, thousandths=progress.thousandths)
            last = time.monotonic()
    mine.update(entries=progress.entries, thousandths=1000, ended_at=clock.now())
