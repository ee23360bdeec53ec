"""Reads of policies."""

from __future__ import annotations

import uuid

from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.policies.models import PolicyVersion


def current(workspace_id: uuid.UUID) -> PolicyVersion | None:
    """The policy in force, None before the first one."""
    return PolicyVersion.objects.filter(workspace_id=workspace_id).order_by("-number").first()


def newest(workspace_id: uuid.UUID) -> tuple[uuid.UUID, int] | None:
    """Id and number of the policy in force, None before the first one.

    Read from the database each time, so that a change takes effect for the next check in every process.
    """
    rows = PolicyVersion.objects.filter(workspace_id=workspace_id).order_by("-number")
    return rows.values_list("id", "number").first()


def numbered(workspace_id: uuid.UUID, number: int) -> tuple[uuid.UUID, int] | None:
    """Id and number of one version, None when there is none."""
    rows = PolicyVersion.objects.filter(workspace_id=workspace_id, number=number)
    return rows.values_list("id", "number").first()


def current_number(workspace_id: uuid.UUID) -> int:
    """The number of the policy in force, 0 before the first one."""
    found = newest(workspace_id)
    return found[1] if found else 0


def version(workspace_id: uuid.UUID, number: int) -> PolicyVersion:
    """One published version. Raises NotFound."""
    found = PolicyVersion.objects.filter(workspace_id=workspace_id, number=number).first()
    if found is None:
        raise NotFound(f"There is no policy v{number}.")
    return found


def history(workspace_id: uuid.UUID, *, cursor: str = "", limit: int = 50) -> Page[PolicyVersion]:
    """A page of published versions, the newest first, without their rules. Raises Invalid for a foreign cursor."""
    rows = PolicyVersion.objects.filter(workspace_id=workspace_id).defer("rules").order_by("-number")
    if cursor:
        (below,) = keyset.read(cursor, length=1)
        if not isinstance(below, int) or isinstance(below, bool) or not 0 <= below < 2**31:
            raise keyset.bad_cursor()
        rows = rows.filter(number__lt=below)
    found = list(rows[: keyset.within(limit) + 1])
    return keyset.cut(found, limit=limit, key=lambda row: [row.number])
