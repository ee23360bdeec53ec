"""Counts what was opened and what became final in the hours of one day."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from datetime import UTC, date, datetime

from django.db.models import Count, Q
from django.db.models.functions import TruncHour

from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.models import Hour
from reviewhub.reviews.models import ReviewRequest


def count_hours(day: date) -> list[Hour]:
    """The rows of a day; hours in which nothing happened have none."""
    since = start_of(day)
    found: dict[tuple[uuid.UUID, datetime], Counter[str]] = defaultdict(Counter)
    for name, column in (("opened", "created_at"), ("closed", "decided_at")):
        rows = ReviewRequest.objects.filter(
            **{f"{column}__gte": since, f"{column}__lt": since + ONE}
        ).annotate(hour=TruncHour(column, tzinfo=UTC))
        if name == "closed":
            rows = rows.exclude(state="pending")
        for workspace, hour, many, expired in rows.values_list("workspace_id", "hour").annotate(
            many=Count("id"), expired=Count("id", filter=Q(state="expired"))
        ):
            found[workspace, hour][name] += many
            found[workspace, hour]["expired"] += expired if name == "closed" else 0
    return [Hour(workspace_id=who, at=hour, **counts) for (who, hour), counts in found.items()]
