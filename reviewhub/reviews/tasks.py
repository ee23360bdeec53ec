"""Celery entries of reviews."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.reviews.expire import due, expire


@shared_task(name="reviewhub.reviews.tasks.expire_due")
def expire_due(**kwargs: Any) -> int:
    """Ends every request whose deadline has passed; how many it ended."""
    return sum(expire(request_id=request_id) for request_id in due())
