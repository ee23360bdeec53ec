"""A run has ended: its large blobs may go."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from reviewhub.audit.signals import Recorded


def nudge(*, event: Recorded, **kwargs: Any) -> None:
    """Receiver of `audit.signals.event_recorded`. A hint; the sweep finds what it misses."""
    if event.kind == "run.ended" and settings.BLOB_STORES:
        from reviewhub.checkpoints.tasks import move_blobs

        move_blobs.delay(run_id=str(event.run_id))
