"""Celery entries of reviews."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from reviewhub.reviews import escalate, expire, remind


@shared_task(name="reviewhub.reviews.tasks.expire_due")
def expire_due(**kwargs: Any) -> int:
    """Ends every request whose deadline has passed; how many it ended."""
    return sum(expire.expire(request_id=request_id) for request_id in expire.due())


@shared_task(name="reviewhub.reviews.tasks.escalate_due")
def escalate_due(**kwargs: Any) -> int:
    """Takes the next step of every request that nobody answered so long; how many."""
    return sum(escalate.escalate(request_id=request_id) for request_id in escalate.due())


@shared_task(name="reviewhub.reviews.tasks.remind_due")
def remind_due(**kwargs: Any) -> int:
    """Reminds of every request whose reminder is due; of how many."""
    return sum(remind.remind(request_id=request_id) for request_id in remind.due())
