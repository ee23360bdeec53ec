"""PostgreSQL with two roles: one owns the tables and migrates, the other is the application's.

After each `migrate`, when `DATABASE_APP_ROLE` names that other role, it is given exactly this: to read and to add
everywhere; to change and to remove rows but those that are for ever (`audit.triggers`); never to empty a table, to
make, alter or drop one, or to touch a trigger, for it owns nothing. What was granted to it by hand is taken back.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from reviewhub.audit.guards import GUARDS

_OWNED: Final = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE')"
    " ORDER BY c.relname"
)


class NoSuchRole(Exception):
    """DATABASE_APP_ROLE names no role of this server, or the one that migrates."""


def grant_after_migrate(*, using: str, **kwargs: Any) -> None:
    """Receiver of `post_migrate`, behind that which makes the triggers."""
    connection = connections[using]
    if connection.vendor == "postgresql" and settings.DATABASE_APP_ROLE:
        grant(settings.DATABASE_APP_ROLE, using=using)


def grant(role: str, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Gives the application's role what it needs on this database, and nothing else.

    Raises:
        NoSuchRole: there is none of that name, or it is the one that this connection uses.
    """
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_schema() FROM pg_roles WHERE rolname = %s AND rolname <> current_user", [role]
        )
        found = cursor.fetchone()
        if found is None:
            raise NoSuchRole(f"{NoSuchRole.__doc__} It says {role!r}.")
        schema, to = connection.ops.quote_name(found[0]), connection.ops.quote_name(role)
        for statement in (
            f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {to}",
            f"GRANT USAGE ON SCHEMA {schema} TO {to}",
            f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {to}",
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {to}",
        ):
            cursor.execute(statement)
        for table, may in _may(connection).items():
            if may:
                cursor.execute(f"GRANT {', '.join(may)} ON {connection.ops.quote_name(table)} TO {to}")


def owned(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """The tables that the role of this connection could alter, because it owns them or is a superuser."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(_OWNED)
        return [name for (name,) in cursor.fetchall()]


def _may(connection: BaseDatabaseWrapper) -> dict[str, list[str]]:
    """Table → what may be done to its rows besides reading and adding."""
    guards = {guard.table: guard for guard in GUARDS}
    found: dict[str, list[str]] = {}
    for table in connection.introspection.table_names():
        guard = guards.get(table)
        changes = guard is None or bool(guard.unless)
        removes = guard is None or bool(guard.may_go)
        found[table] = [*(["UPDATE"] if changes else []), *(["DELETE"] if removes else [])]
    return found
