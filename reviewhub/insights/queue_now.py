"""What waits now, whatever the days that are asked for."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from reviewhub.reviews.models import ReviewRequest

MOST_COUNTED = 10_000


@dataclass(frozen=True, kw_only=True)
class QueueNow:
    """Open requests, and those of them whose deadline has gone by; no more than MOST_COUNTED are counted."""

    waiting: int
    overdue: int


def queue_now(workspace_id: uuid.UUID, at: datetime) -> QueueNow:
    """Counts them, in the whole workspace."""
    rows = ReviewRequest.objects.filter(workspace_id=workspace_id, state="pending").order_by()
    some = rows.values("pk", "deadline_at")[:MOST_COUNTED]
    return QueueNow(**some.aggregate(waiting=Count("pk"), overdue=Count("pk", filter=Q(deadline_at__lte=at))))
