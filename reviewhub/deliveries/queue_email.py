"""E-mails are written into the outbox, in the transaction of what they tell of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from reviewhub.accounts.models import Workspace
from reviewhub.core import clock
from reviewhub.deliveries.models import Email
from reviewhub.deliveries.nudge import nudge


def queue_email(*, workspace: Workspace, to: Sequence[str], subject: str, body: str) -> None:
    """Queues one e-mail for each address; none when nobody is named."""
    now = clock.now()
    emails = [
        Email(
            workspace=workspace, to=address, subject=" ".join(subject.split())[:400], body=body, next_at=now
        )
        for address in to
    ]
    Email.objects.bulk_create(emails)
    for email in emails:
        transaction.on_commit(partial(nudge, email.pk), robust=True)
