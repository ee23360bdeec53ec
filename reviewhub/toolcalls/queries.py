"""Reads of tool calls."""

from __future__ import annotations

from django.db.models import QuerySet

from reviewhub.toolcalls.models import CallVersion, Decision, Grant, ToolCall
from reviewhub.toolcalls.states import CallState, GrantState


def arguments_of(call: ToolCall, version: int | None = None) -> str:
    """The exact arguments text of a version (the current one by default)."""
    row = CallVersion.objects.only("arguments").get(tool_call=call, version=version or call.version)
    return row.arguments


def last_decision(call: ToolCall) -> Decision | None:
    """The newest decision of a call."""
    return call.decisions.order_by("-decided_at", "-id").first()


def open_grant(call: ToolCall) -> Grant | None:
    """The grant that may still be consumed."""
    return call.grants.filter(state=GrantState.OPEN).first()


def equal_on_other_branches(call: ToolCall) -> QuerySet[ToolCall]:
    """Calls of the same tool with the same arguments on other branches of the same run that (may) have acted."""
    return ToolCall.objects.filter(
        run_id=call.run_id,
        digest=call.digest,
        state__in=[CallState.STARTED, CallState.UNKNOWN, CallState.SUCCEEDED],
    ).exclude(branch_id=call.branch_id)
