"""Waiting for the feed: on PostgreSQL it holds back what any open transaction of the database could overtake."""

from __future__ import annotations

import time

from django.db import connection

from reviewhub.audit.horizon import horizon

SECONDS = 60


def settle() -> None:
    """Returns when no transaction of this database is open that is older than this moment."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        (now,) = cursor.fetchone()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if (horizon() or 0) >= now:
                return
            time.sleep(0.05)
    raise AssertionError(f"a transaction of this database stayed open for {SECONDS} s")
