"""W001: the database does not guard what is for ever. W002: the application could take the guards away.

Warnings. W001, since `migrate`, which would mend it, runs the checks first and stops at an error. The server does
not start without the guards, and /readyz says no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections

from reviewhub.audit.roles import owned
from reviewhub.audit.triggers import missing_triggers


def append_only_is_guarded(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Runs with `check --database` and `migrate` only; says nothing before the first migration."""
    found: list[checks.CheckMessage] = []
    for using in databases or []:
        if "audit_event" not in connections[using].introspection.table_names():
            continue
        missing = missing_triggers(using=using)
        if missing:
            found.append(
                checks.Warning(
                    "Rows that are for ever could be changed: " + ", ".join(missing),
                    hint="`manage.py migrate` makes the missing triggers again.",
                    id="reviewhub.W001",
                )
            )
    return found


def role_owns_nothing(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Runs with `check --deploy --database` only, as the role that the application uses."""
    return [
        checks.Warning(
            "The application's role owns its tables, so it could drop what guards the record.",
            hint="Let another role own them and migrate: see docs/record.md, “Two roles”.",
            id="reviewhub.W002",
        )
        for using in databases or []
        if "audit_event" in owned(using=using)
    ]
