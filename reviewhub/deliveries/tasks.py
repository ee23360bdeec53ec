"""Celery entries of the outbox."""

from __future__ import annotations

import uuid
from typing import Any

from celery import shared_task

from reviewhub.core.sweeps import each
from reviewhub.deliveries import send as sending


@shared_task(name="reviewhub.deliveries.tasks.send_one")
def send_one(*, email_id: str, **kwargs: Any) -> None:
    """Sends one e-mail if it is due."""
    sending.send(uuid.UUID(email_id))


@shared_task(name="reviewhub.deliveries.tasks.send_due")
def send_due(**kwargs: Any) -> int:
    """Sends what a lost hint or a failed attempt left behind; how many were sent."""
    return each(lambda email_id: sending.send(email_id), sending.due())
