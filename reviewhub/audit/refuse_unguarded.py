"""No program of this project starts on a database that would let the record be changed."""

from __future__ import annotations

from django.db import connection

from reviewhub.audit.triggers import missing_triggers


class Unguarded(Exception):
    """The database does not guard what is for ever."""


def refuse_unguarded() -> None:
    """Called when a web process or a worker starts.

    A database that was not migrated yet is let pass: there is no record in it, and `/readyz` says no.

    Raises:
        Unguarded: naming what is not in force.
    """
    if "audit_event" not in connection.introspection.table_names():
        return
    if missing := missing_triggers():
        raise Unguarded(f"{Unguarded.__doc__} Run: manage.py migrate. Not in force: {', '.join(missing)}")
