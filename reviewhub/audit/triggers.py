"""Append-only for real: the database itself refuses to change or remove rows that are for ever.

One list of guarded tables, SQL for both databases. The triggers are made after every `migrate`, since Django
rebuilds a table on SQLite by copying it, and that drops its triggers without a word. A trigger's name holds a
digest of what it does, so an outdated one counts as missing. `missing_triggers` says what is not in force;
start and /readyz refuse while it says anything.

Some rows may go one day. The trigger lets each go only while a removal of its run is under way, which is a row in a
ledger that is guarded itself and that cannot be committed before it is complete (`checkpoints.models.Removal`).

What this does not stop: whoever owns the database can drop a trigger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from reviewhub.audit.adopt import adopt, events_of_another_cluster

PREFIX: Final = "guard_"
_FUNCTION: Final = "reviewhub_refuse"


@dataclass(frozen=True, kw_only=True)
class Guard:
    """One table whose rows are never changed and never removed.

    `keys` are the columns of its primary key and of each unique constraint, with spaces between, and ` WHERE ` with its
    condition for one that has any. On SQLite an INSERT OR
    REPLACE takes away the row that has one of them, and no trigger of a DELETE fires on a connection without the pragma
    recursive_triggers, which anybody's program is. So an INSERT of a key that is there is refused before.

    `unless` is an SQL condition over OLD and NEW, one text for both databases or one for each: an UPDATE for which
    it is true passes. `may_go` is one over OLD, for a DELETE. `as_it_is` is one over NEW: an INSERT for which it is
    not true is refused.
    """

    table: str
    keys: tuple[str, ...]
    unless: str | Mapping[str, str] = ""
    may_go: str = ""
    as_it_is: str = ""

    def passes(self, vendor: str) -> str:
        """`unless` as this database has it."""
        return self.unless if isinstance(self.unless, str) else self.unless[vendor]


# What an event says is emptied by another one that names it, in the same workspace. A hold of its run bars that.
# The list is read as JSON, each database in its own words: a reason may say whatever it likes.
_NAMED: Final = {
    "postgresql": "p.body::jsonb #> '{data,event_ids}' @> to_jsonb(OLD.event_id)",
    "sqlite": "EXISTS (SELECT 1 FROM json_each(p.body, '$.data.event_ids') n WHERE n.value = OLD.event_id)",
}
_ERASURE: Final = {
    vendor: (
        "OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.event_id = OLD.event_id"  # noqa: S608  all of it is here
        " AND length(NEW.salt) = 0 AND NEW.actor_name = '' AND NEW.sentence = '' AND NEW.body = ''"
        " AND NEW.arguments = ''"
        " AND EXISTS (SELECT 1 FROM audit_event e JOIN audit_event by_one ON by_one.workspace_id = e.workspace_id"
        " JOIN audit_eventpayload p ON p.event_id = by_one.id"
        " WHERE e.id = OLD.event_id AND by_one.id = NEW.erased_by AND by_one.kind = 'audit.erased'"
        f" AND {named} AND NOT EXISTS (SELECT 1 FROM checkpoints_hold h WHERE h.run_id = e.run_id))"
    )
    for vendor, named in _NAMED.items()
}

# A blob's bytes go to a blob store, and the row says where; or they come back. They are never in neither.
_MOVED: Final = (
    "NEW.run_id = OLD.run_id AND NEW.hash = OLD.hash"
    " AND ((OLD.data IS NOT NULL AND NEW.data IS NULL AND NEW.location IS NOT NULL AND NEW.size IS NOT NULL)"
    " OR (OLD.data IS NULL AND NEW.data IS NOT NULL AND NEW.location IS NOT NULL"
    " AND NEW.location = OLD.location AND NEW.size = OLD.size))"
)
# Damaged bytes are replaced by those whose hash it is. The database sees to that itself, so they come uncompressed,
# after the byte that says so. SQLite has no SHA-256; Django lends it one, and no UPDATE of another program passes.
_HASHED: Final = {
    "postgresql": "substr(NEW.data, 1, 1) = '\\x00'::bytea AND sha256(substr(NEW.data, 2)) = OLD.hash",
    # IS, since a part of nothing is NULL here, and a guard that does not know lets pass.
    "sqlite": "substr(NEW.data, 1, 1) IS x'00'"
    " AND sha256(CAST(substr(NEW.data, 2) AS TEXT)) IS lower(hex(OLD.hash))",
}
_BLOB_CHANGES: Final = {
    vendor: f"({_MOVED}) OR (NEW.run_id = OLD.run_id AND NEW.hash = OLD.hash AND NEW.data IS NOT NULL"
    " AND OLD.data IS NOT NULL AND coalesce(NEW.location, '') = coalesce(OLD.location, '')"
    f" AND coalesce(NEW.size, -1) = coalesce(OLD.size, -1) AND {hashed})"
    for vendor, hashed in _HASHED.items()
}
# The run's open removal; r.end_id names a row that is not there yet, which no commit lets pass. A hold bars it.
_REMOVAL: Final = (
    "FROM checkpoints_removal r WHERE r.run_id = OLD.run_id"
    " AND NOT EXISTS (SELECT 1 FROM checkpoints_removalend e WHERE e.id = r.end_id)"
    " AND NOT EXISTS (SELECT 1 FROM checkpoints_hold h WHERE h.run_id = OLD.run_id)"
)
_BLOB_GOES: Final = f"EXISTS (SELECT 1 {_REMOVAL})"
_MARK_GOES: Final = _BLOB_GOES.replace(
    "OLD.run_id", "(SELECT v.run_id FROM plans_planversion v WHERE v.id = OLD.version_id)"
)
_TOMBSTONE: Final = (
    "t.id = OLD.id AND t.branch_id = OLD.branch_id"
    " AND t.number = OLD.number AND t.state_hash = OLD.state_hash"
)
_CHECKPOINT_GOES: Final = (
    f"EXISTS (SELECT 1 {_REMOVAL}"  # noqa: S608  all of it is written above
    f" AND EXISTS (SELECT 1 FROM checkpoints_tombstone t WHERE t.removal_id = r.id AND {_TOMBSTONE}))"
)


def _emptied(run: str, empty: dict[str, str], same: str) -> str:
    """An UPDATE that sets exactly these columns to these values, while an erasure of the row's run is under way.

    Args:
        run: an SQL expression over OLD for the id of the run.
        same: the other columns, separated by spaces.
    """
    values = [f"NEW.{name} {'IS' if value == 'NULL' else '='} {value}" for name, value in empty.items()]
    kept = [
        f"(NEW.{name} = OLD.{name} OR (NEW.{name} IS NULL AND OLD.{name} IS NULL))" for name in same.split()
    ]
    removal = _REMOVAL.replace("OLD.run_id", run)
    return " AND ".join([*values, *kept, f"EXISTS (SELECT 1 {removal} AND r.kind = 'erasure')"])


def _renamed(name: str, whose: str, same: str) -> str:
    """An UPDATE that puts an invented name where the name of somebody stands who was erased.

    Args:
        name: the column of the name.
        whose: that of their id.
        same: the other columns, separated by spaces.
    """
    kept = [
        f"(NEW.{one} = OLD.{one} OR (NEW.{one} IS NULL AND OLD.{one} IS NULL))"
        for one in (whose, *same.split())
    ]
    erased = (
        f"EXISTS (SELECT 1 FROM audit_event e WHERE e.kind = 'member.erased' AND e.subject_id = OLD.{whose})"  # noqa: S608
    )
    return " AND ".join([f"NEW.{name} LIKE 'Erased person ________'", *kept, erased])


_CALL: Final = "(SELECT c.run_id FROM toolcalls_toolcall c WHERE c.id = OLD.tool_call_id)"
_VERSION_EMPTIED: Final = _emptied(
    _CALL,
    {"arguments": "'{}'", "changes": "'[]'"},
    "id tool_call_id version digest likeness author_kind author_id author_name created_at",
)
_DECISION_EMPTIED: Final = _emptied(
    _CALL,
    {"message": "''", "note": "''", "value": "NULL"},
    "id workspace_id tool_call_id request_id type version digest by_kind by_id by_name policy_version decided_at",
)
_PLAN_EMPTIED: Final = _emptied(
    "OLD.run_id",
    {
        "content": """'{"assumptions":[],"steps":[]}'""",
        "statuses": "'{}'",
        "assumption": "''",
        "reason": "''",
    },
    "id workspace_id run_id branch_id number base restores why_kind failures author_kind author_name created_at",
)
_MARK_EMPTIED: Final = _emptied(
    "(SELECT p.run_id FROM plans_planversion p WHERE p.id = OLD.version_id)",
    {"step": "''", "note": "''"},
    "version_id number status created_at",
)
_VOTE: Final = (
    "id request_id member_id name verdict version digest reason seats for_teams in_place_of created_at"
)
_VOTE_EMPTIED: Final = _emptied(
    "(SELECT q.run_id FROM reviews_reviewrequest q WHERE q.id = OLD.request_id)",
    {"message": "''", "note": "''"},
    f"{_VOTE} voided_at voided_because",
)
_VOTE_RENAMED: Final = _renamed(
    "name",
    "member_id",
    f"{_VOTE} message note voided_at voided_because".replace(" member_id name ", " "),
)
_VERSION_RENAMED: Final = _renamed(
    "author_name",
    "author_id",
    "id tool_call_id version arguments changes digest likeness author_kind created_at",
)
_DECISION_RENAMED: Final = _renamed(
    "by_name",
    "by_id",
    "id workspace_id tool_call_id request_id type version digest message note value by_kind policy_version decided_at",
)
# A vote that is void stays so, and what it said stays, too.
_VOTE_VOIDED: Final = " AND ".join(
    [
        "OLD.voided_at IS NULL AND NEW.voided_at IS NOT NULL",
        *(f"NEW.{name} = OLD.{name}" for name in f"{_VOTE} message note".split()),
    ]
)

# Tables of the apps above are named as text: the audit app does not import them.
# How many checkpoints a removal says went: as many as it has tombstones of, and of none of these the row is there.
_STONES: Final = (
    "FROM checkpoints_removal r JOIN checkpoints_tombstone t ON t.removal_id = r.id WHERE r.end_id = NEW.id"
)
_COUNTED: Final = (
    f"NEW.checkpoints = (SELECT count(*) {_STONES})"  # noqa: S608  all of it is written above
    f" AND NOT EXISTS (SELECT 1 {_STONES}"
    " AND EXISTS (SELECT 1 FROM checkpoints_checkpoint c WHERE c.id = t.id))"
)

GUARDS: Final = (
    Guard(table="audit_event", keys=("id",)),
    Guard(table="audit_eventpayload", keys=("event_id",), unless=_ERASURE),
    Guard(table="audit_position", keys=("event_id", "workspace_id position")),
    Guard(table="audit_seal", keys=("id", "workspace_id number", "workspace_id last")),
    Guard(table="audit_sealkey", keys=("public", "number")),
    Guard(table="checkpoints_blob", keys=("run_id hash",), unless=_BLOB_CHANGES, may_go=_BLOB_GOES),
    Guard(table="checkpoints_checkpoint", keys=("id", "branch_id number"), may_go=_CHECKPOINT_GOES),
    Guard(table="checkpoints_removal", keys=("id", "end_id")),
    Guard(table="checkpoints_removalend", keys=("id",), as_it_is=_COUNTED),
    Guard(table="checkpoints_stateschema", keys=("id", "agent_id name version")),
    Guard(table="checkpoints_tombstone", keys=("id", "branch_id number")),
    Guard(
        table="plans_planversion",
        keys=("id", "run_id number", "branch_id base"),
        unless=_PLAN_EMPTIED,
        may_go=_BLOB_GOES,
    ),
    Guard(table="plans_stepmark", keys=("version_id number",), unless=_MARK_EMPTIED, may_go=_MARK_GOES),
    Guard(table="policies_knowntool", keys=("id", "version_id agent_id name")),
    Guard(table="policies_policyversion", keys=("id", "workspace_id number")),
    Guard(table="standing_standinguse", keys=("id", "tool_call_id", "standing_id number")),
    Guard(
        table="reviews_review",
        keys=("id", "request_id member_id WHERE voided_at IS NULL"),
        unless=f"({_VOTE_VOIDED}) OR ({_VOTE_EMPTIED}) OR ({_VOTE_RENAMED})",
    ),
    Guard(table="toolcalls_attempt", keys=("id", "tool_call_id number", "tool_call_id key_hash")),
    Guard(
        table="toolcalls_callversion",
        keys=("id", "tool_call_id version"),
        unless=f"({_VERSION_EMPTIED}) OR ({_VERSION_RENAMED})",
    ),
    Guard(
        table="toolcalls_decision",
        keys=("id", "request_id"),
        unless=f"({_DECISION_EMPTIED}) OR ({_DECISION_RENAMED})",
    ),
)


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
    conditions = {
        "update": f"NOT ({guard.passes('sqlite')})" if guard.unless else "",
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
    made = [
        _function_and_trigger(table, "update", guard.passes("postgresql")),
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
