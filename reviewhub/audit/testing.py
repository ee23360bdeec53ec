"""For tests only: the one way past the guards, so that a test database can be emptied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.core.management.commands import flush as flushing
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from reviewhub.audit.triggers import create_triggers, drop_triggers, guards_in_force


@contextmanager
def unguarded(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Drops the guards and makes them again."""
    _settle(connections[using])
    drop_triggers(using=using)
    try:
        yield
    finally:
        _settle(connections[using])
        create_triggers(using=using)


def _settle(connection: BaseDatabaseWrapper) -> None:
    """PostgreSQL alters no table with checks that wait for the end of the transaction."""
    if connection.vendor == "postgresql" and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@contextmanager
def flush_may_pass() -> Iterator[None]:
    """While it lasts, Django's flush (the end of a transactional test) empties the tables past their guards.

    It touches only tables with rows, and deletes: TRUNCATE makes new files for every table and index, and tests write
    few rows. And nothing is done as after a `migrate`: Django's own table of permissions, which nobody reads here,
    takes longer to fill than most tests.
    """
    # On the class: a browser test flushes in another context than the one it began in, on a connection of its own.
    with mock.patch.object(flushing.Command, "handle", _flush):
        yield


def _flush(command: flushing.Command, **options: Any) -> None:
    connection = connections[options["database"]]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        filled = _filled(connection, cursor)
        # Foreign keys are checked at the end of a transaction; tables with checks pending let go of no guard.
        with _guards_off(connection, cursor, filled):
            for table in filled:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608  a table of ours
            if connection.vendor == "postgresql":
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def _filled(connection: BaseDatabaseWrapper, cursor: CursorWrapper) -> Sequence[str]:
    """The tables of models that hold a row."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quoted = connection.ops.quote_name
    cursor.execute(
        " UNION ALL ".join(
            f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quoted(table)})"  # noqa: S608  tables of ours
            for table in tables
        )
    )
    return [table for (table,) in cursor.fetchall()]


@contextmanager
def _guards_off(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, tables: Sequence[str]
) -> Iterator[None]:
    """Within a transaction: the guards of these tables are out of force, and then exactly they are in force again."""
    guards = [(name, table) for name, table in guards_in_force(connection).items() if table in tables]
    if connection.vendor == "postgresql":
        _each(cursor, guards, "ALTER TABLE {table} DISABLE TRIGGER {name}".format)
        yield
        _each(cursor, guards, "ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}".format)
        return
    names = tuple(name for name, _ in guards)
    marks = ", ".join(["%s"] * len(names))
    cursor.execute(f"SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name IN ({marks})", names)  # noqa: S608
    made = [sql for (sql,) in cursor.fetchall()]
    _each(cursor, guards, "DROP TRIGGER {name}".format)
    yield
    for sql in made:
        cursor.execute(sql)


def _each(cursor: CursorWrapper, guards: Sequence[tuple[str, str]], statement: Callable[..., str]) -> None:
    for name, table in guards:
        cursor.execute(statement(name=name, table=table))
