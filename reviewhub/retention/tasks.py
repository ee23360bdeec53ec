"""Celery entries of retention."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.retention import sweep as sweeping
from reviewhub.retention.scrub import scrub_again


@shared_task(name="reviewhub.retention.tasks.sweep")
def sweep(**kwargs: Any) -> int:
    """Prunes the runs whose turn it is, and sees that what was erased is gone; how many bytes went."""
    gone = sweeping.sweep().bytes
    scrub_again()
    return gone
