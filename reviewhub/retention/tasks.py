"""Celery entries of retention."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.retention import sweep as sweeping


@shared_task(name="reviewhub.retention.tasks.sweep")
def sweep(**kwargs: Any) -> int:
    """Prunes the runs whose turn it is; how many bytes went."""
    return sweeping.sweep().bytes
