"""For tests only: the one way past the guards, so that a test database can be emptied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.core.management.commands import flush as flushing
from django.db import DEFAULT_DB_ALIAS, connections, transaction

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
    """While it lasts, Django's flush of this connection (the end of a transactional test) goes unguarded.

    On PostgreSQL the rows are deleted: TRUNCATE makes new files for every table and index, and tests write few rows.
    And nothing is done as after a `migrate`: the guards are in force again, and Django's own table of permissions,
    which nobody reads here, takes longer to fill than most tests.
    """
    # On the class: a browser test flushes in another context than the one it began in, on a connection of its own.
    operations = type(connections[using].ops)
    execute, statements = operations.execute_sql_flush, operations.sql_flush

    def flush(self: Any, sql_list: Any) -> None:
        with transaction.atomic(using=using), unguarded(using=using):
            execute(self, sql_list)

    def deletions(self: Any, style: Any, tables: list[str], **kwargs: Any) -> list[str]:
        # Foreign keys are checked at the end of a transaction; tables with checks pending take no triggers.
        return [*map("DELETE FROM {}".format, map(self.quote_name, tables)), "SET CONSTRAINTS ALL IMMEDIATE"]

    operations.execute_sql_flush = flush  # type: ignore[method-assign]
    if connections[using].vendor == "postgresql":
        operations.sql_flush = deletions  # type: ignore[method-assign, assignment]
    try:
        with mock.patch.object(flushing, "emit_post_migrate_signal"):
            yield
    finally:
        operations.execute_sql_flush = execute  # type: ignore[method-assign]
        operations.sql_flush = statements  # type: ignore[method-assign]
