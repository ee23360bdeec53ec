"""How often somebody said yes without a break. Pure: streaks of days are joined to those of months."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Streak:
    """Approvals in a row among some votes: before the first other answer, at most, and since the last other one."""

    votes: int = 0
    first: int = 0
    longest: int = 0
    last: int = 0

    def then(self, other: Streak) -> Streak:
        """This, and then the other."""
        return Streak(
            votes=self.votes + other.votes,
            first=self.votes + other.first if self.first == self.votes else self.first,
            longest=max(self.longest, other.longest, self.last + other.first),
            last=self.last + other.votes if other.last == other.votes else other.last,
        )


def streak(approved: Iterable[bool]) -> Streak:
    """The streak of votes in their order: whether each was a plain approval."""
    votes = longest = last = 0
    first: int | None = None
    for yes in approved:
        votes += 1
        if yes:
            last += 1
            longest = max(longest, last)
        else:
            first = last if first is None else first
            last = 0
    return Streak(votes=votes, first=votes if first is None else first, longest=longest, last=last)
