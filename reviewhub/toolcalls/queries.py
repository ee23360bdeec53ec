"""Reads of tool calls."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q, QuerySet

from reviewhub.core import keyset
from reviewhub.core.clock import now
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.core.words import words_asked
from reviewhub.runs.models import Branch, Run, Words
from reviewhub.toolcalls.models import CallVersion, Decision, Grant, ToolCall
from reviewhub.toolcalls.states import CallState, GrantState

PAGE = 100
FITTING = 1000
ACTED = (CallState.STARTED, CallState.UNKNOWN, CallState.SUCCEEDED)


def calls_of(*, branch: Branch, cursor: str) -> Page[ToolCall]:
    """The calls of a branch, the newest first. Raises Invalid for a cursor of another list."""
    return keyset.newest_first(ToolCall.objects.filter(branch=branch), cursor=cursor, limit=PAGE)


def unasked(runs: QuerySet[Run], *, workspace_id: uuid.UUID, text: str, most: int) -> list[ToolCall]:
    """The newest calls of these runs that nobody was asked about, of the FITTING newest that `text` finds."""
    named = Words.objects.filter(
        workspace_id=workspace_id, call_id__isnull=False, words__holds=words_asked(text)
    )
    newest = named.order_by("-id").values("call_id")[:FITTING]
    rows = ToolCall.objects.filter(pk__in=newest, run__in=runs, requests__isnull=True)
    return list(rows.select_related("run__agent").order_by("-created_at", "-id")[:most])


def arguments_of(call: ToolCall, version: int | None = None) -> str:
    """The exact arguments text of a version (the current one by default)."""
    row = CallVersion.objects.only("arguments").get(tool_call=call, version=version or call.version)
    return row.arguments


def last_decision(call: ToolCall) -> Decision | None:
    """The newest decision of a call."""
    return call.decisions.order_by("-decided_at", "-id").first()


def open_grant(call: ToolCall) -> Grant | None:
    """The grant that may still be consumed."""
    return one_or_none(call.grants.filter(state=GrantState.OPEN))


def acted_elsewhere(
    *, run_id: uuid.UUID, branch_id: uuid.UUID, alike: Collection[str]
) -> dict[str, list[ToolCall]]:
    """Calls on other branches of a run that acted, or may have, by `likeness`: those that ever had one of these.

    Every version counts, not only the one that ran: whoever proposes 1240 again after a person made 900 of it means
    the same refund.
    """
    rows = (
        CallVersion.objects.filter(likeness__in=alike, tool_call__run_id=run_id, tool_call__state__in=ACTED)
        .exclude(tool_call__branch_id=branch_id)
        .select_related("tool_call__branch")
        .order_by("tool_call__created_at", "version")
    )
    found: dict[str, list[ToolCall]] = {}
    for row in rows:
        found.setdefault(row.likeness, []).append(row.tool_call)
    return found


def equal_elsewhere(call: ToolCall) -> list[ToolCall]:
    """Calls on other branches of its run that acted, or may have, and were at any time equal to `call` at any time."""
    alike = list(call.versions.values_list("likeness", flat=True))
    found = acted_elsewhere(run_id=call.run_id, branch_id=call.branch_id, alike=alike)
    return list({twin.pk: twin for twins in found.values() for twin in twins}.values())


@dataclass(frozen=True)
class Counted:
    """How many calls of one tool there were, and what policy said to them."""

    calls: int = 0
    held: int = 0
    denied: int = 0


def counts_by_tool(
    workspace_id: uuid.UUID, agents: Collection[uuid.UUID], *, days: int
) -> dict[tuple[uuid.UUID, str], Counted]:
    """The calls of the last `days` days, by agent and name of the tool."""
    rows = ToolCall.objects.filter(
        workspace_id=workspace_id, agent__in=agents, created_at__gte=now() - timedelta(days=days)
    )
    # `because` is canonical text: its keys stand in order, the action first.
    counted = rows.values_list("agent_id", "tool_name").annotate(
        calls=Count("id"),
        held=Count("id", filter=Q(because__startswith='{"action":"require"')),
        denied=Count("id", filter=Q(because__startswith='{"action":"deny"')),
    )
    return {(agent, name): Counted(*numbers) for agent, name, *numbers in counted}
