"""Celery entries of the outbox."""

from __future__ import annotations

import uuid
from typing import Any

from celery import shared_task

from reviewhub.deliveries.send import due, send


@shared_task(name="reviewhub.deliveries.tasks.send_one")
def send_one(*, email_id: str, **kwargs: Any) -> None:
    """Sends one e-mail if it is due."""
    send(uuid.UUID(email_id))


@shared_task(name="reviewhub.deliveries.tasks.send_due")
def send_due(**kwargs: Any) -> int:
    """Sends what a lost hint or a failed attempt left behind; how many there were."""
    found = due()
    for email_id in found:
        send(email_id)
    return len(found)
