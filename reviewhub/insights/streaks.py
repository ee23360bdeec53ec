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


def joined(streaks: Iterable[tuple[int, int, int, int]]) -> Streak:
    """Streaks in their order, each as (votes, first, longest, last), as one."""
    votes = first = longest = last = 0
    for its_votes, its_first, its_longest, its_last in streaks:
        longest = max(longest, its_longest, last + its_first)
        if first == votes:
            first += its_first
        last = last + its_votes if its_last == its_votes else its_last
        votes += its_votes
    return Streak(votes=votes, first=first, longest=longest, last=last)


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
