"""Requests that became final, and votes on them, row by row."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from reviewhub.accounts.models import Member, Team
from reviewhub.insights.models import Opening
from reviewhub.reviews.models import Review, ReviewRequest
from tests.web.make import waiting

VERDICT = {"approved": "approve", "edited": "edit", "rejected": "reject", "responded": "respond"}


def final(
    team: Team,
    *,
    state: str,
    at: datetime,
    waited: float = 60.0,
    by: Member | None = None,
    opened: float | None = None,
    escalated: int = 0,
    **given: Any,
) -> ReviewRequest:
    """A request that ended in `state` at `at` after `waited` seconds.

    Args:
        by: who voted; nobody when None.
        opened: how many seconds before the vote they had the page before them; never when None.
    """
    row = waiting(team, **given)
    fields: dict[str, Any] = {"state": state, "escalated": escalated}
    if state != "pending":
        fields["decided_at"] = at
    ReviewRequest.objects.filter(pk=row.pk).update(created_at=at - timedelta(seconds=waited), **fields)
    if by is not None:
        vote(row, by, VERDICT[state], at=at, opened=opened)
    row.refresh_from_db()
    return row


def vote(row: ReviewRequest, by: Member, verdict: str, *, at: datetime, opened: float | None = None) -> None:
    """One vote on the version that the request has."""
    # A vote is never changed, so it is made at its time.
    with patch("django.utils.timezone.now", return_value=at):
        Review.objects.create(
            request=row, member=by, name="", verdict=verdict, version=row.version, digest="sha256:0"
        )
    if opened is not None:
        Opening.objects.create(request=row, member=by, version=row.version, at=at - timedelta(seconds=opened))
