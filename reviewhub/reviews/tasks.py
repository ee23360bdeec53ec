"""Celery entries of reviews."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.core.sweeps import each
from reviewhub.reviews import escalate, expire, remind


@shared_task(name="reviewhub.reviews.tasks.expire_due")
def expire_due(**kwargs: Any) -> int:
    """Ends every request whose deadline has passed; how many it ended."""
    return each(lambda request_id: expire.expire(request_id=request_id), expire.due())


@shared_task(name="reviewhub.reviews.tasks.escalate_due")
def escalate_due(**kwargs: Any) -> int:
    """Takes the next step of every request that nobody answered so long; how many."""
    return each(lambda request_id: escalate.escalate(request_id=request_id), escalate.due())


@shared_task(name="reviewhub.reviews.tasks.remind_due")
def remind_due(**kwargs: Any) -> int:
    """Reminds of every request whose reminder is due; of how many."""
    return each(lambda request_id: remind.remind(request_id=request_id), remind.due())
