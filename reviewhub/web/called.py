"""Tool calls as pages show them: the exact arguments, and the result or error, with secrets masked as everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from reviewhub_agents import canonical

from reviewhub.core.display import arguments
from reviewhub.core.display.arguments import Arguments
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.schemas.validate import SchemaUnusable, validate
from reviewhub.reviews.held_now import held_now
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.models import Tool
from reviewhub.web.checks import Check, verdicts_on

ERROR_CHARACTERS = 4000


@dataclass(frozen=True)
class Outcome:
    """What came of a call: its result as rows, or the text of its error.

    `misfit`: where the result is not as its tool declares, a JSON pointer; None when it is, or nothing is declared.
    """

    result: Arguments | None = None
    error: str = ""
    is_partial: bool = False
    misfit: str | None = None


@dataclass(frozen=True)
class Called:
    """A tool call with its newest arguments."""

    call: ToolCall
    arguments: Arguments
    outcome: Outcome
    request: ReviewRequest | None
    drawn: PostReview | None
    """Its later look, for one that ran without waiting and was drawn."""
    checks: list[Check]
    """What verifiers say of it."""
    since: datetime
    """When it came into the state that it is in."""

    @property
    def why(self) -> str:
        """Why it ran, waits or was denied, for people."""
        if self.held is not None:
            return self.held.text
        because = canonical.reread(self.call.because)
        return str(because.get("text", "")) if isinstance(because, dict) else ""

    @property
    def stands(self) -> bool:
        """Whether a standing approval let it run."""
        because = canonical.reread(self.call.because)
        return self.held is None and isinstance(because, dict) and because.get("kind") == "standing"

    @cached_property
    def held(self) -> Stored | None:
        """What holds it since an edit, or since it was asked about again."""
        return held_now(self.call, self.request) if self.request is not None else None


def called(calls: list[ToolCall]) -> list[Called]:
    """These calls with their newest arguments, requests, later looks and verdicts; six queries for all of them."""
    versions = {
        (version.tool_call_id, version.version): version.arguments
        for version in CallVersion.objects.filter(tool_call__in=calls)
    }
    asked = {
        one.tool_call_id: one
        for one in ReviewRequest.objects.filter(tool_call__in=calls)
        .only(
            "tool_call_id", "number", "state", "created_at", "kind", "version", "again_of_id", "requirement"
        )
        .order_by("number")
    }
    decided = dict(
        Decision.objects.filter(tool_call__in=calls)
        .order_by("decided_at", "id")
        .values_list("tool_call_id", "decided_at")
    )
    drawn = {one.tool_call_id: one for one in PostReview.objects.filter(tool_call__in=calls)}
    tools = Tool.objects.filter(agent_id__in={call.agent_id for call in calls})
    tools = tools.only("agent_id", "name", "schema", "result_schema")
    schemas = {(tool.agent_id, tool.name): (tool.schema, tool.result_schema) for tool in tools}
    said = verdicts_on(calls)
    found: list[Called] = []
    for call in calls:
        text = versions.get((call.pk, call.version), "{}")
        schema, result_schema = schemas.get((call.agent_id, call.tool_name), ("", ""))
        rows = arguments.rows(text, secret_paths=write_only_paths(schema, text))
        asked_for = asked.get(call.pk)
        asked_at = asked_for.created_at if asked_for else None
        since = since_when(call, asked_at=asked_at, decided_at=decided.get(call.pk))
        came, checks = outcome(call, result_schema), said.get(call.pk, [])
        found.append(Called(call, rows, came, asked_for, drawn.get(call.pk), checks, since))
    return found


def since_when(call: ToolCall, *, asked_at: datetime | None, decided_at: datetime | None) -> datetime:
    """When the call came into its state: proposed, asked about, decided, started or ended."""
    at = {
        CallState.WAITING: asked_at,
        CallState.ALLOWED: decided_at,
        CallState.DENIED: decided_at,
        CallState.SKIPPED: decided_at,
        CallState.STARTED: call.started_at,
        CallState.SUCCEEDED: call.ended_at or decided_at,
        CallState.FAILED: call.ended_at or decided_at,
        CallState.UNKNOWN: call.ended_at or asked_at or call.started_at,
    }.get(CallState(call.state))
    return at or call.created_at


def outcome(call: ToolCall, result_schema: str) -> Outcome:
    """The call's result, or its error, or what it has reported so far. The schema says what of it is secret."""
    if call.error is not None:
        return Outcome(error=call.error[:ERROR_CHARACTERS])
    said = call.result if call.result is not None else call.partial
    if said is None:
        return Outcome()
    return Outcome(
        result=arguments.rows(said, secret_paths=write_only_paths(result_schema, said)),
        is_partial=call.result is None,
        misfit=misfit(call.result, result_schema),
    )


def misfit(result: str | None, result_schema: str) -> str | None:
    """Where a result is not as its tool declares. The value itself is not named: it may be secret."""
    if result is None or not result_schema:
        return None
    try:
        faults = validate(result_schema, result)
    except SchemaUnusable:
        return ""
    return faults[0]["path"] if faults else None
