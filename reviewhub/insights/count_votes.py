"""Counts the votes of one day by member, and how long each had the request before them."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Length

from reviewhub.insights.count_answers import BY_PEOPLE
from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.models import Opening, Voted
from reviewhub.insights.rubber import is_quick
from reviewhub.insights.sketch import sketch
from reviewhub.insights.streaks import streak
from reviewhub.reviews.models import Review
from reviewhub.toolcalls.models import CallVersion

STATE = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "responded"}


@dataclass(frozen=True)
class Vote:
    """One vote. seconds: since the page was opened, None when it never was. characters: what was to be read."""

    verdict: str
    seconds: float | None
    characters: int


def count_votes(day: date) -> list[Voted]:
    """The rows of a day."""
    by_member: dict[tuple[uuid.UUID, uuid.UUID], list[Vote]] = defaultdict(list)
    for who, vote in _votes(start_of(day)):
        by_member[who].append(vote)
    return [_voted(who, day, votes) for who, votes in by_member.items()]


def _votes(since: datetime) -> Iterator[tuple[tuple[uuid.UUID, uuid.UUID], Vote]]:
    mine = {"request": OuterRef("request"), "member": OuterRef("member")}
    of_call = CallVersion.objects.filter(
        tool_call=OuterRef("request__tool_call"), version=OuterRef("version")
    )
    rows = (
        Review.objects.filter(created_at__gte=since, created_at__lt=since + ONE, verdict__in=STATE)
        .order_by("created_at", "id")
        .values_list(
            "request__workspace_id",
            "member_id",
            "verdict",
            "created_at",
            Subquery(
                Opening.objects.filter(**mine, version__lte=OuterRef("version"))
                .order_by("-version")
                .values("at")[:1]
            ),
            Subquery(Review.objects.filter(**mine, version__lt=OuterRef("version")).values("version")[:1]),
            Subquery(of_call.values(size=Length("arguments"))[:1]),
            Subquery(of_call.values(size=Length("changes"))[:1]),
        )
    )
    for workspace, member, verdict, at, opened, before, arguments, changes in rows.iterator():
        seconds = None if opened is None else max(0.0, (at - opened).total_seconds())
        # Who answered an earlier version need only read what changed since.
        yield (workspace, member), Vote(verdict, seconds, (arguments if before is None else changes) or 0)


def _voted(who: tuple[uuid.UUID, uuid.UUID], day: date, votes: list[Vote]) -> Voted:
    verdicts = Counter(STATE[vote.verdict] for vote in votes)
    approvals = [vote for vote in votes if vote.verdict == "approve"]
    opened = [vote for vote in approvals if vote.seconds is not None]
    found = streak(vote.verdict == "approve" for vote in votes)
    return Voted(
        workspace_id=who[0],
        member_id=who[1],
        day=day,
        **{state: verdicts[state] for state in BY_PEOPLE},
        measured=len(opened),
        quick=sum(is_quick(vote.seconds or 0.0, vote.characters) for vote in opened),
        unopened=len(approvals) - len(opened),
        streak_first=found.first,
        streak_longest=found.longest,
        streak_last=found.last,
        open_ms=sketch(vote.seconds * 1000 for vote in votes if vote.seconds is not None),
    )
