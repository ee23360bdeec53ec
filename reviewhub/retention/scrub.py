"""What was erased is gone from SQLite's files, too. On PostgreSQL VACUUM and the log's own rotation see to that."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import connection

from reviewhub.core import clock
from reviewhub.runs.models import Run

log = logging.getLogger(__name__)

LATELY = timedelta(days=1)
MILLISECONDS = 1000


def scrub() -> bool:
    """Writes the log beside the database into it and empties the log, which held what was erased; whether it could.

    What is freed inside the database is overwritten with zeros already (`secure_delete`, a setting of each connection).
    Readers that take long hold the log: then the next sweep does it.
    """
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        (patience,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        # It keeps writers out while it waits for readers.
        cursor.execute(f"PRAGMA busy_timeout={MILLISECONDS}")
        (busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        cursor.execute(f"PRAGMA busy_timeout={patience}")
    if busy:
        log.warning(
            "the log beside the database is being read and still holds what was erased; tried again later"
        )
    return not busy


def scrub_again() -> None:
    """The same, while something was erased lately: readers may have been in the way then."""
    if Run.objects.filter(erased_at__gt=clock.now() - LATELY).exists():
        scrub()
