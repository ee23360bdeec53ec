"""What takes time of a call's arguments is found out before its rows are locked: they never change within a version."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import F, OuterRef, Subquery
from reviewhub_agents import canonical

from reviewhub.policies.facts import Checked, checked
from reviewhub.toolcalls.models import CallVersion
from reviewhub.tools.models import Tool


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """The arguments of one version, read, and what a schema said to them, if it was asked."""

    version: int
    schema: str
    arguments: str
    tree: canonical.Tree
    by_schema: Checked | None


def read_ahead(call_id: uuid.UUID, *, checks: bool = True) -> Ahead | None:
    """The call's current version, read; None where there is no such call. It may be another version by the lock.

    Args:
        checks: whether the tool's schema is asked, too.
    """
    tool = Tool.objects.filter(agent=OuterRef("tool_call__agent"), name=OuterRef("tool_call__tool_name"))
    rows = CallVersion.objects.filter(tool_call=call_id, version=F("tool_call__version"))
    found = rows.values_list("version", "arguments", Subquery(tool.values("schema")[:1])).first()
    if found is None:
        return None
    version, text, schema = found
    tree = canonical.reread(text)
    return Ahead(
        version=version,
        schema=schema or "",
        arguments=text,
        tree=tree,
        by_schema=checked(schema or "", tree) if checks else None,
    )
