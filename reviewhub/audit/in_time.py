"""A query that is given up when it takes too long."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, TypeVar

from django.db import OperationalError, connection, transaction

T = TypeVar("T")
INDEX_SECONDS: Final = 0.8
_CANCELLED: Final = "57014"
_LOCALLY: Final = "SELECT set_config('statement_timeout', %s, true)"


def in_time(rows: Iterable[T], seconds: float = INDEX_SECONDS) -> list[T] | None:
    """The rows; None when finding them takes too long. Only on PostgreSQL, which can be told to stop."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            usual = cursor.fetchone()[0]
            cursor.execute(_LOCALLY, [f"{max(1, int(seconds * 1000))}ms"])
            found = list(rows)
            cursor.execute(_LOCALLY, [usual])
            return found
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != _CANCELLED:
            raise
        return None


def all_in_time(ways: Iterable[Iterable[T]], seconds: float = INDEX_SECONDS) -> list[T] | None:
    """The rows of all of these queries; None when they take longer than this together."""
    found: list[T] = []
    until = time.monotonic() + seconds
    for rows in ways:
        some = in_time(rows, until - time.monotonic())
        if some is None:
            return None
        found += some
    return found
