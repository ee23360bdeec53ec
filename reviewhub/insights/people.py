"""The figures of the people who decide: load, answers, and signs that approving became a habit."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from django.db.models import F, QuerySet, Sum

from reviewhub.accounts.models import Member
from reviewhub.insights.count_answers import BY_PEOPLE
from reviewhub.insights.joined import Joined
from reviewhub.insights.models import Voted
from reviewhub.insights.sketch import Sketch, quantiles
from reviewhub.insights.streaks import Streak, joined

QUICK_SHARE = 0.25
"""From this share of approvals that came too soon (or without the page) on it is a sign."""
LONG_STREAK = 50
"""From so many approvals in a row on it is a sign."""
_COUNTS = (*BY_PEOPLE, "measured", "quick", "unopened")
FEWEST = 10
"""Of fewer approvals nothing is said."""


@dataclass(kw_only=True)
class Reviewer:
    """One member's votes over some days. times: from opening the page to the vote."""

    member: Member = field(init=False)
    counts: Counter[str] = field(default_factory=Counter)
    streak: Streak = field(default_factory=Streak)
    times: Sketch = b""

    @cached_property
    def median(self) -> float | None:
        """The middle one of the times, in milliseconds."""
        found = quantiles([self.times], (0.5,))
        return found[0] if found else None

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
    rows = Voted.objects.filter(workspace_id=workspace_id, day__gte=first, day__lte=last).order_by()
    if team is not None:
        rows = rows.filter(member__teams=team)
    sums = {f"all_{name}": Sum(name) for name in _COUNTS}
    found: dict[uuid.UUID, Reviewer] = {}
    for who, times, *counts in rows.values_list("member").annotate(all_times=Joined("open_ms"), **sums):
        found[who] = Reviewer(counts=Counter(dict(zip(_COUNTS, counts, strict=True))), times=times)
    for who, streak in _streaks(rows):
        found[who].streak = streak
    for member in Member.objects.filter(pk__in=found).select_related("person"):
        found[member.pk].member = member
    return sorted(found.values(), key=lambda one: (-one.votes, one.member.person.name, str(one.member.pk)))


def _streaks(rows: QuerySet[Voted]) -> Iterator[tuple[uuid.UUID, Streak]]:
    """Each member's streak. A year of thirty people is eleven thousand small rows, so they are read without models."""
    votes = sum((F(name) for name in BY_PEOPLE[1:]), F(BY_PEOPLE[0]))
    days = rows.order_by("member", "day").values_list(
        "member", votes, "streak_first", "streak_longest", "streak_last"
    )
    for who, many in groupby(days, key=itemgetter(0)):
        yield who, joined(one[1:] for one in many)
