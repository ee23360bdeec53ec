"""What should not be: ran without approval, was approved and never ran, nobody knows whether it ran."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.figures import Asked
from reviewhub.reviews.draw import alarming
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import Grant, ToolCall

MOST_COUNTED = 10_000


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Some calls, the newest first, and how many there are (no more than MOST_COUNTED are counted)."""

    many: int
    newest: list[ToolCall]


@dataclass(frozen=True, kw_only=True)
class Troubles:
    """The three kinds. unknown: the requests that wait for somebody's word now, whatever the days."""

    unapproved: Calls
    unused: Calls
    unknown: list[ReviewRequest]
    unknown_many: int


def troubles(asked: Asked, at: datetime, *, most: int) -> Troubles:
    """What there is in the days that are asked for, of the agent and tool that are asked for.

    Args:
        most: calls of each kind that are listed.
    """
    unknown = ReviewRequest.objects.filter(
        workspace_id=asked.workspace_id, state="pending", kind=ReviewRequest.Kind.UNKNOWN
    )
    unknown = _narrow(unknown, asked).order_by("created_at")
    return Troubles(
        unapproved=_calls(_narrow(_within(alarming(ToolCall.objects.all()), asked), asked), most),
        unused=_calls(_unused(asked, at), most),
        unknown=list(unknown[:most]),
        unknown_many=unknown[:MOST_COUNTED].count(),
    )


def _unused(asked: Asked, at: datetime) -> QuerySet[ToolCall]:
    """Calls that people allowed, that never started, and that no grant lets start any more."""
    over = Q(state__in=["expired", "revoked"]) | Q(state="open", expires_at__lt=at)
    lost = Grant.objects.filter(over, ~Q(state="consumed"), by_policy=False)
    calls = ToolCall.objects.filter(pk__in=_within(lost, asked).values("tool_call"), attempt=0)
    alive = Grant.objects.filter(tool_call=OuterRef("pk"), state="open")
    alive = alive.filter(Q(expires_at__isnull=True) | Q(expires_at__gte=at))
    asked_again = ReviewRequest.objects.filter(tool_call=OuterRef("pk"), state="pending")
    return _narrow(calls.filter(~Exists(alive), ~Exists(asked_again)), asked)


def _within(rows: QuerySet, asked: Asked) -> QuerySet:  # type: ignore[type-arg]
    return rows.filter(
        workspace_id=asked.workspace_id,
        created_at__gte=start_of(asked.first),
        created_at__lt=start_of(asked.last) + ONE,
    )


def _narrow(rows: QuerySet, asked: Asked) -> QuerySet:  # type: ignore[type-arg]
    if asked.agent is not None:
        rows = rows.filter(agent=asked.agent)
    if asked.tool:
        rows = rows.filter(tool_name=asked.tool)
    return rows


def _calls(rows: QuerySet[ToolCall], most: int) -> Calls:
    newest = rows.select_related("agent").order_by("-created_at", "-id")[:most]
    return Calls(many=rows[:MOST_COUNTED].count(), newest=list(newest))
