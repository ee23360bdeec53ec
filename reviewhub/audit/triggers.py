"""Append-only for real: the database itself refuses to change or remove rows that are for ever.

`audit.guards` lists the guarded tables; here is the SQL for both databases. The triggers are made after every
`migrate`, since Django rebuilds a table on SQLite by copying it, and that drops its triggers without a word. A
trigger's name holds a digest of what it does, so an outdated one counts as missing. `missing_triggers` says what is
not in force; start and /readyz refuse while it says anything.

What this does not stop: whoever owns the database can drop a trigger.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from reviewhub.audit.adopt import adopt, events_of_another_cluster
from reviewhub.audit.guards import ANYTHING, GUARDS, Guard

PREFIX: Final = "guard_"
_FUNCTION: Final = "reviewhub_refuse"


# undefined_column, undefined_table: PostgreSQL looks when a trigger is made, SQLite when it fires.
_NOT_THERE_YET: Final = frozenset({"42703", "42P01"})


@dataclass(frozen=True)
class Trigger:
    """One trigger of one guarded table; `sql` makes it."""

    name: str
    table: str
    sql: str


def create_triggers(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Makes what is missing and drops what is outdated; tables that do not exist yet are left out."""
    connection = connections[using]
    tables = set(connection.introspection.table_names())
    wanted = {trigger.name: trigger for trigger in _wanted(connection) if trigger.table in tables}
    present = guards_in_force(connection)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_FUNCTION_SQL)
        for name, table in present.items():
            if name not in wanted:
                cursor.execute(_drop(connection, name, table))
        for name, trigger in wanted.items():
            if name not in present:
                _make(connection, trigger)


def _make(connection: BaseDatabaseWrapper, trigger: Trigger) -> None:
    """One guard. Between two migrations it may name columns of a later one: then it is left out, and nothing starts."""
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(trigger.sql)
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", "") not in _NOT_THERE_YET:
            raise


def drop_triggers(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Drops every guard. For `audit.testing` and for `migrate`, which makes them again at its end; nothing else."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for name, table in guards_in_force(connection).items():
            cursor.execute(_drop(connection, name, table))


def missing_triggers(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """What is not in force, in words, sorted; empty when every row that is for ever is guarded."""
    connection = connections[using]
    present = guards_in_force(connection)
    missing = [trigger.name for trigger in _wanted(connection) if trigger.name not in present]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA recursive_triggers")
            if cursor.fetchone()[0] != 1:
                missing.append("PRAGMA recursive_triggers (the second guard against INSERT OR REPLACE)")
    return sorted(missing)


def create_after_migrate(*, using: str, **kwargs: Any) -> None:
    """Receiver of `post_migrate`: the guards, and the events of a restored dump while they are off."""
    tables = connections[using].introspection.table_names()
    with transaction.atomic(using=using):
        if "audit_event" in tables and events_of_another_cluster(using=using):
            drop_triggers(using=using)
            adopt(using=using)
        create_triggers(using=using)


def drop_before_migrate(*, plan: Any, using: str, **kwargs: Any) -> None:
    """Receiver of `pre_migrate`: SQLite renames no table while a trigger names one that is being rebuilt.

    The guards are made again at the end; a `migrate` that fails leaves a database on which nothing starts.
    """
    if plan and connections[using].vendor == "sqlite":
        drop_triggers(using=using)


def _wanted(connection: BaseDatabaseWrapper) -> list[Trigger]:
    make = _postgresql if connection.vendor == "postgresql" else _sqlite
    return [trigger for guard in GUARDS for trigger in make(guard)]


def _sqlite(guard: Guard) -> list[Trigger]:
    table = guard.table
    conditions = (
        {}
        if guard.unless == ANYTHING
        else {
            "update": f"NOT ({guard.passes('sqlite')})" if guard.unless else "",
        }
    )
    conditions |= {
        "delete": f"NOT ({guard.may_go})" if guard.may_go else "",
        "replace": _is_there(guard),
    }
    if guard.as_it_is:
        conditions["insert"] = f"NOT ({guard.as_it_is})"
    return [
        _trigger(
            table,
            name,
            f"BEFORE {'INSERT' if name == 'replace' else name.upper()} ON {table} FOR EACH ROW"
            f"{f' WHEN {condition}' if condition else ''}"
            f" BEGIN SELECT RAISE(ABORT, '{table}: {_SAYS[name]}'); END",
        )
        for name, condition in conditions.items()
    ]


_SAYS: Final = {
    "update": "rows are never changed",
    "delete": "rows are never removed",
    "replace": "rows are never changed, nor written anew",
    "insert": "the account is not what happened",
}


def _is_there(guard: Guard) -> str:
    """Whether a new row would take the place of another. Tables without an integer key have a row number besides."""
    found = []
    for key in (*guard.keys, "rowid"):
        names, _, where = key.partition(" WHERE ")
        same = " AND ".join(f"{name} = NEW.{name}" for name in names.split())
        same += f" AND {where} AND NEW.{where}" if where else ""
        found.append(f"EXISTS (SELECT 1 FROM {guard.table} WHERE {same})")  # noqa: S608
    return " OR ".join(found)


# IntegrityError on both databases: 23001 is restrict_violation.
_FUNCTION_SQL: Final = f"""
CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: rows are never %', TG_TABLE_NAME,
        CASE TG_OP WHEN 'UPDATE' THEN 'changed' ELSE 'removed' END
        USING ERRCODE = '23001';
END $$
"""


def _postgresql(guard: Guard) -> list[Trigger]:
    table = guard.table
    made = (
        []
        if guard.unless == ANYTHING
        else [_function_and_trigger(table, "update", guard.passes("postgresql"))]
    )
    made += [
        _function_and_trigger(table, "delete", guard.may_go),
        # TRUNCATE passes the triggers of rows.
        _always(
            table, "truncate", f"BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()"
        ),
    ]
    return [*made, _function_and_trigger(table, "insert", guard.as_it_is)] if guard.as_it_is else made


def _function_and_trigger(table: str, operation: str, unless: str) -> Trigger:
    """A trigger for each row. A condition that reads tables stands in a function: a trigger's WHEN must not."""
    on = f"BEFORE {operation.upper()} ON {table} FOR EACH ROW"
    if "SELECT" not in unless:
        when = f"WHEN (NOT ({unless})) " if unless else ""
        return _always(table, operation, f"{on} {when}EXECUTE FUNCTION {_FUNCTION}()")
    row = "OLD" if operation == "delete" else "NEW"
    body = (
        f"BEGIN IF NOT ({unless}) THEN RAISE EXCEPTION '{table}: {_SAYS[operation]}'"
        f" USING ERRCODE = '23001'; END IF; RETURN {row}; END"
    )
    # Named after what it says, so that it is never another's.
    function = f"{PREFIX}{operation}_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    made = _always(table, operation, f"{on} EXECUTE FUNCTION {function}()")
    define = f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$; "
    return Trigger(made.name, table, define + made.sql)


def _always(table: str, operation: str, does: str) -> Trigger:
    """ALWAYS: also for a session that plays a replica. One of that name may be there, but disabled."""
    one = _trigger(table, operation, does)
    return Trigger(
        one.name,
        table,
        f"DROP TRIGGER IF EXISTS {one.name} ON {table}; {one.sql};"
        f" ALTER TABLE {table} ENABLE ALWAYS TRIGGER {one.name}",
    )


def _trigger(table: str, operation: str, does: str) -> Trigger:
    name = f"{PREFIX}{table}_{operation}_{hashlib.sha256(does.encode()).hexdigest()[:8]}"
    return Trigger(name, table, f"CREATE TRIGGER {name} {does}")


def guards_in_force(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """The guards in force, trigger → table; on PostgreSQL only those that fire ALWAYS count."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
                " JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE NOT t.tgisinternal AND n.nspname = current_schema() AND t.tgenabled = 'A'"
            )
        else:
            cursor.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        return {name: table for name, table in cursor.fetchall() if name.startswith(PREFIX)}


def _drop(connection: BaseDatabaseWrapper, name: str, table: str) -> str:
    return f"DROP TRIGGER {name} ON {table}" if connection.vendor == "postgresql" else f"DROP TRIGGER {name}"
