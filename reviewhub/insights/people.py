"""The figures of the people who decide: load, answers, and signs that approving became a habit."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import date

from reviewhub.accounts.models import Member
from reviewhub.insights.count_answers import BY_PEOPLE
from reviewhub.insights.models import Voted
from reviewhub.insights.sketch import Sketch, quantiles
from reviewhub.insights.streaks import Streak

QUICK_SHARE = 0.25
"""From this share of approvals that came too soon (or without the page) on it is a sign."""
LONG_STREAK = 50
"""From so many approvals in a row on it is a sign."""
_COUNTS = (*BY_PEOPLE, "measured", "quick", "unopened")
FEWEST = 10
"""Of fewer approvals nothing is said."""


@dataclass(kw_only=True)
class Reviewer:
    """One member's votes over some days. median, p95: from opening the page to the vote, in milliseconds."""

    member: Member = field(init=False)
    counts: Counter[str] = field(default_factory=Counter)
    streak: Streak = field(default_factory=Streak)
    times: list[Sketch] = field(default_factory=list)
    median: float | None = None
    p95: float | None = None

    def close(self) -> None:
        """Finds the quantiles of all that was added."""
        self.median, self.p95 = quantiles(self.times, (0.5, 0.95)) or (None, None)

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
    # Many small rows: a year of thirty people is eleven thousand, so they are read without models.
    for who, first_ones, longest, last_ones, times, *counts in rows.values_list(
        "member", "streak_first", "streak_longest", "streak_last", "open_ms", *_COUNTS
    ):
        one = found.get(who)
        if one is None:
            one = found[who] = Reviewer()
        for name, value in zip(_COUNTS, counts, strict=True):
            one.counts[name] += value
        votes = sum(counts[: len(BY_PEOPLE)])
        one.streak = one.streak.then(Streak(votes, first_ones, longest, last_ones))
        one.times.append(times)
    for member in Member.objects.filter(pk__in=found).select_related("person"):
        found[member.pk].member = member
        found[member.pk].close()
    return sorted(found.values(), key=lambda one: (-one.votes, one.member.person.name, str(one.member.pk)))
