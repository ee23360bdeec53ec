"""Celery entries of checkpoints."""

from __future__ import annotations

import uuid
from typing import Any

from celery import shared_task

from reviewhub.checkpoints.blobs.protocol import StoreDown
from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.blobs.sweep import sweep


@shared_task(name="reviewhub.checkpoints.tasks.move_blobs")
def move_blobs(*, run_id: str, **kwargs: Any) -> int:
    """Moves large blobs of one run; how many. When the store is down, a sweep will do it."""
    try:
        return relocate(run_id=uuid.UUID(run_id))
    except StoreDown:
        return 0


@shared_task(name="reviewhub.checkpoints.tasks.sweep_blobs")
def sweep_blobs(**kwargs: Any) -> int:
    """Moves and removes blobs that a lost hint left behind; how many."""
    return sweep()
