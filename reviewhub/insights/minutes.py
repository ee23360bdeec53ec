"""How long a decision takes a team: measured from its votes, not from how long requests wait."""

from __future__ import annotations

import uuid
from collections import defaultdict
from datetime import datetime, timedelta
from statistics import median
from typing import Literal

from django.db.models import OuterRef, Subquery

from reviewhub.core.clock import now
from reviewhub.insights.models import Opening
from reviewhub.reviews.models import Review

MEASURED_DAYS = 30
MOST_VOTES = 5000
LONGEST = timedelta(minutes=15)
"""Between two votes of a person that lie further apart, nobody knows what they did."""
FEWEST = 5
ASSUMED_SECONDS = 120.0
Source = Literal["team", "all", "assumed"]


class Pace:
    """Seconds for one decision by team; where too few were measured, of all teams, else an assumed time."""

    def __init__(self, seconds: dict[str, float], overall: float | None) -> None:
        self._seconds, self._overall = seconds, overall

    def of(self, team: str) -> float:
        """The median for this team."""
        return self._seconds.get(team, self._overall or ASSUMED_SECONDS)

    def source(self, team: str) -> Source:
        """Of whose votes that is."""
        return "team" if team in self._seconds else "assumed" if self.is_assumed else "all"

    @property
    def is_assumed(self) -> bool:
        """Whether nothing was measured."""
        return self._overall is None


def pace(workspace_id: uuid.UUID) -> Pace:
    """What the last votes on pages say. A vote took as long as since the voter's vote before it, or since they opened
    the request, whichever is less, if that is less than a quarter of an hour. Of a vote by a program nobody knows."""
    rows = Review.objects.filter(
        request__workspace_id=workspace_id, created_at__gte=now() - timedelta(days=MEASURED_DAYS)
    ).order_by("-created_at")
    seen = Opening.objects.filter(
        request=OuterRef("request"), member=OuterRef("member"), version__lte=OuterRef("version")
    )
    opening = Subquery(seen.order_by("-version").values("at")[:1])
    fields = ("member_id", "created_at", opening, "request__teams__name")
    votes: dict[tuple[uuid.UUID, datetime], tuple[datetime | None, list[str]]] = {}
    for member, at, opened, team in reversed(rows.values_list(*fields)[:MOST_VOTES]):
        votes.setdefault((member, at), (opened, []))[1].append(team)
    last: dict[uuid.UUID, datetime] = {}
    took: dict[str, list[float]] = defaultdict(list)
    every: list[float] = []
    for (member, at), (opened, teams) in votes.items():
        since = None if opened is None else max(opened, last.get(member, opened))
        last[member] = at
        if since is not None and at - since < LONGEST:
            seconds = (at - since).total_seconds()
            every.append(seconds)
            for team in teams:
                took[team].append(seconds)
    return Pace(
        {team: median(many) for team, many in took.items() if len(many) >= FEWEST},
        median(every) if len(every) >= FEWEST else None,
    )
