"""Tells the tailers of all processes at once that there are new events, where the database can carry such a word."""

from __future__ import annotations

import time

from django.db import connection

from reviewhub.live.tailer import CHANNEL, QUIET_SECONDS

_said_at = -QUIET_SECONDS
"""By the monotonic clock; of this process."""


def notify(**_: object) -> None:
    """Receiver of `audit.signals.event_recorded`: after the commit, and without content, since it is only a hint.

    Not inside the transaction: PostgreSQL lets commits that notify pass one at a time. One word is enough for all that
    this process commits within QUIET_SECONDS: it costs as much as a bare insert, and tailers look once more after it.
    """
    global _said_at
    now = time.monotonic()
    if now - _said_at >= QUIET_SECONDS and connection.vendor == "postgresql":
        _said_at = now
        with connection.cursor() as sql:
            sql.execute(f"NOTIFY {CHANNEL}")
