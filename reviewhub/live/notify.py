"""Tells the tailers of all processes at once that there are new events, where the database can carry such a word."""

from __future__ import annotations

from django.db import connection

from reviewhub.live.tailer import CHANNEL


def notify(**_: object) -> None:
    """Receiver of `audit.signals.event_recorded`: after the commit, and without content, since it is only a hint.

    Not inside the transaction: PostgreSQL lets commits that notify pass one at a time.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as sql:
            sql.execute(f"NOTIFY {CHANNEL}")
