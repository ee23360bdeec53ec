"""Can this installation answer? The database, its migrations, and the triggers that keep the record append-only."""

from __future__ import annotations

from django.db import Error, close_old_connections, connection
from django.db.migrations.executor import MigrationExecutor

from reviewhub.audit.adopt import events_of_another_cluster
from reviewhub.audit.triggers import missing_triggers

_migrated = False


def problems() -> list[str]:
    """What keeps this process from being ready, in words; empty when nothing does."""
    close_old_connections()
    try:
        return unapplied_migrations() or unguarded_record()
    except Error as error:
        return [f"the database does not answer: {type(error).__name__}"]
    finally:
        close_old_connections()


def unguarded_record() -> list[str]:
    """What is wrong with the record's tables; `migrate` mends each of it."""
    found = [f"not guarded: {missing}" for missing in missing_triggers()]
    if events_of_another_cluster():
        found.append("the events come from another PostgreSQL cluster (a restored dump)")
    return found


def unapplied_migrations() -> list[str]:
    """Migrations to apply. Once there were none only the connection is tried (reading the files costs 50 ms)."""
    global _migrated
    if _migrated:
        with connection.cursor() as sql:
            sql.execute("SELECT 1")
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    _migrated = not plan
    return [f"migration not applied: {migration}" for migration, _ in plan]
