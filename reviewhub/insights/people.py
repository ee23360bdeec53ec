"""The figures of the people who decide: load, answers, and signs that approving became a habit."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import date

from reviewhub.accounts.models import Member
from reviewhub.insights.count_answers import BY_PEOPLE
from reviewhub.insights.models import Voted
from reviewhub.insights.sketch import quantiles
from reviewhub.insights.streaks import Streak

QUICK_SHARE = 0.25
"""From this share of approvals that came too soon (or without the page) on it is a sign."""
LONG_STREAK = 50
"""From so many approvals in a row on it is a sign."""
FEWEST = 10
"""Of fewer approvals nothing is said."""


@dataclass(kw_only=True)
class Reviewer:
    """One member's votes over some days. median, p95: from opening the page to the vote, in milliseconds."""

    member: Member
    counts: Counter[str] = field(default_factory=Counter)
    streak: Streak = field(default_factory=Streak)
    times: list[bytes] = field(default_factory=list)
    median: float | None = None
    p95: float | None = None

    @property
    def votes(self) -> int:
        """All of them."""
        return sum(self.counts[name] for name in BY_PEOPLE)

    def rate(self, name: str) -> float | None:
        """The share of one answer."""
        return self.counts[name] / self.votes if self.votes else None

    @property
    def quick(self) -> float | None:
        """The share of approvals that came sooner than the page can be read; None when no page was opened."""
        return self.counts["quick"] / self.counts["measured"] if self.counts["measured"] else None

    @property
    def unopened(self) -> float | None:
        """The share of approvals whose page was never opened."""
        return self.counts["unopened"] / self.counts["approved"] if self.counts["approved"] else None

    @property
    def signs(self) -> list[str]:
        """What looks like a rubber stamp: `quick`, `unopened`, `streak`."""
        if self.counts["approved"] < FEWEST:
            return []
        found = {
            "quick": (self.quick or 0) >= QUICK_SHARE and self.counts["measured"] >= FEWEST,
            "unopened": (self.unopened or 0) >= QUICK_SHARE,
            "streak": self.streak.longest >= LONG_STREAK,
        }
        return [name for name, holds in found.items() if holds]


def reviewers(
    workspace_id: uuid.UUID, first: date, last: date, team: uuid.UUID | None = None
) -> list[Reviewer]:
    """Everybody who voted on these days, the busiest first; of a team only those who are in it now."""
    rows = Voted.objects.filter(workspace_id=workspace_id, day__gte=first, day__lte=last).order_by("day")
    if team is not None:
        rows = rows.filter(member__teams=team)
    found: dict[uuid.UUID, Reviewer] = {}
    for row in rows.select_related("member__person"):
        one = found.setdefault(row.member_id, Reviewer(member=row.member))
        for name in (*BY_PEOPLE, "measured", "quick", "unopened"):
            one.counts[name] += getattr(row, name)
        one.streak = one.streak.then(_streak(row))
        one.times.append(bytes(row.open_ms))
    for one in found.values():
        one.median, one.p95 = quantiles(one.times, (0.5, 0.95)) or (None, None)
    return sorted(found.values(), key=lambda one: (-one.votes, one.member.person.name, str(one.member.pk)))


def _streak(row: Voted) -> Streak:
    votes = sum(getattr(row, name) for name in BY_PEOPLE)
    return Streak(votes=votes, first=row.streak_first, longest=row.streak_longest, last=row.streak_last)
