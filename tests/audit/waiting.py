"""Waiting for the feed: on PostgreSQL it holds back what any open transaction of the server could overtake."""

from __future__ import annotations

import time

from django.db import connection

SECONDS = 60


def settle() -> None:
    """Returns when no transaction is open that is older than this moment, also none of another database.

    Tests of other databases of the same server may run at the same time.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        (now,) = cursor.fetchone()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            if cursor.fetchone()[0] >= now:
                return
            time.sleep(0.05)
    raise AssertionError(f"a transaction of this server stayed open for {SECONDS} s")
