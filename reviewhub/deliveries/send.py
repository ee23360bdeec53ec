"""E-mails leave the outbox."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from typing import Any

from django.core.mail import EmailMessage
from django.db.models import F

from reviewhub.core import clock
from reviewhub.core.clock import DbNow
from reviewhub.deliveries.folder import forget
from reviewhub.deliveries.models import Email

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
LEASE = timedelta(minutes=2)
BATCH = 50


def due() -> list[uuid.UUID]:
    """Ids of e-mails whose time has come, oldest first."""
    waiting = Email.objects.filter(sent_at__isnull=True, failed_at__isnull=True, next_at__lte=DbNow())
    return list(waiting.order_by("next_at").values_list("pk", flat=True)[:BATCH])


def send(email_id: uuid.UUID) -> bool:
    """Sends one e-mail, at least once: a crash between sending and its record sends it again after the lease.

    The row is claimed by a guarded update first, so that two workers do not both send it.
    """
    now = clock.now()
    claimed = Email.objects.filter(
        pk=email_id, sent_at__isnull=True, failed_at__isnull=True, next_at__lte=DbNow()
    ).update(next_at=now + LEASE, attempts=F("attempts") + 1)
    if not claimed:
        return False
    email = Email.objects.get(pk=email_id)
    try:
        EmailMessage(email.subject, email.body, to=[email.to]).send()
    except Exception as error:
        # Also what is wrong with an address or a subject, which goes the same way every time.
        log.warning("e-mail %s not sent (attempt %s)", email.pk, email.attempts, exc_info=True)
        _failed(email, error)
        return False
    if not Email.objects.filter(pk=email_id).update(sent_at=DbNow(), next_at=None, error=""):
        # It was erased meanwhile, and so is what has just been written to the mail folder.
        forget(lambda words: words.split() == email.body.split())
    return True


def _failed(email: Email, error: Exception) -> None:
    """Tries again later, twice as late each time, and gives up in the end."""
    values: dict[str, Any] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    if email.attempts >= MAX_ATTEMPTS:
        values |= {"failed_at": DbNow(), "next_at": None}
    else:
        values["next_at"] = clock.now() + timedelta(seconds=15 * 2**email.attempts)
    Email.objects.filter(pk=email.pk).update(**values)
