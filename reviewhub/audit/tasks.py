"""Celery entries of the record."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.audit.seal import seal_all


@shared_task(name="reviewhub.audit.tasks.seal")
def seal(**kwargs: Any) -> None:
    """Seals what waits in every workspace."""
    seal_all()
