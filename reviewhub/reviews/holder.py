"""Whose claim on a request holds: read at each use, never swept."""

from __future__ import annotations

from django.db.models import Q

from reviewhub.accounts.models import Member
from reviewhub.core.clock import DbNow
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.models import ReviewRequest

HOLDS = Q(claimed_until__gt=DbNow(), claimed_by__is_active=True, claimed_by__person__is_active=True)


def holder(row: ReviewRequest) -> Member | None:
    """The member whose claim has not run out, by the database's clock, and who is active; or nobody."""
    if row.claimed_by_id is None:
        return None
    held = one_or_none(ReviewRequest.objects.filter(HOLDS, pk=row.pk).select_related("claimed_by__person"))
    return held.claimed_by if held else None
