"""For tests only: the one way past the guards, so that a test database can be emptied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from reviewhub.audit.triggers import create_triggers, drop_triggers


@contextmanager
def unguarded(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Drops the guards and makes them again."""
    drop_triggers(using=using)
    try:
        yield
    finally:
        create_triggers(using=using)


@contextmanager
def flush_may_pass(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """While it lasts, Django's flush of this connection (the end of a transactional test) goes unguarded."""
    # On the class: a browser test flushes in another context than the one it began in, on a connection of its own.
    operations = type(connections[using].ops)
    original = operations.execute_sql_flush

    def flush(self: Any, sql_list: Any) -> None:
        with unguarded(using=using):
            original(self, sql_list)

    operations.execute_sql_flush = flush  # type: ignore[method-assign]
    try:
        yield
    finally:
        operations.execute_sql_flush = original  # type: ignore[method-assign]
