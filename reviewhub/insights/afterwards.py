"""What people found when they looked afterwards at actions that ran without waiting."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date

from django.db.models import Count
from django.db.models.functions import TruncDay

from reviewhub.insights.days import ONE, day_of, start_of
from reviewhub.insights.figures import Asked
from reviewhub.reviews.models import FollowUp, PostReview

FINE = "fine"


@dataclass(frozen=True, kw_only=True)
class Open:
    """What is still to be done now: actions to look at, and follow-ups of flags."""

    looks: int
    follow_ups: int


def afterwards(asked: Asked) -> dict[date, Counter[str]]:
    """By day: how many were `fine`, and how many were flagged, by severity."""
    rows = PostReview.objects.filter(
        workspace_id=asked.workspace_id,
        reviewed_at__gte=start_of(asked.first),
        reviewed_at__lt=start_of(asked.last) + ONE,
        state__in=[FINE, "flagged"],
    )
    if asked.agent is not None:
        rows = rows.filter(agent=asked.agent)
    if asked.tool:
        rows = rows.filter(tool_name=asked.tool)
    found: dict[date, Counter[str]] = defaultdict(Counter)
    counted = rows.annotate(day=TruncDay("reviewed_at", tzinfo=UTC)).values_list("day", "state", "severity")
    for day, state, severity, many in counted.order_by().annotate(many=Count("id")):
        found[day_of(day)][FINE if state == FINE else severity] += many
    return dict(sorted(found.items()))


def still_open(asked: Asked) -> Open:
    """Counts it, of the agent and tool that are asked for, whatever the days."""
    rows = PostReview.objects.filter(workspace_id=asked.workspace_id)
    if asked.agent is not None:
        rows = rows.filter(agent=asked.agent)
    if asked.tool:
        rows = rows.filter(tool_name=asked.tool)
    follow_ups = FollowUp.objects.filter(workspace_id=asked.workspace_id, state="open")
    if asked.agent is not None or asked.tool:
        follow_ups = follow_ups.filter(post_review__in=rows)
    return Open(looks=rows.filter(state="drawn").count(), follow_ups=follow_ups.count())


def agreement(counts: Counter[str]) -> float | None:
    """The share that was fine; None when nobody looked."""
    whole = sum(counts.values())
    return counts[FINE] / whole if whole else None
