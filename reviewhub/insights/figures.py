"""The figures of a workspace over some days, from what was counted of each: what pages, files and the API show.

Nothing here reads a request or a vote, so a year of them costs what its days cost.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import QuerySet, Sum

from reviewhub.insights.count_answers import BY_PEOPLE, OUTCOMES, UNKNOWN
from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.joined import Joined
from reviewhub.insights.models import Answered, EditedPath, Hour, Slice
from reviewhub.insights.sketch import Sketch, quantiles_of, tally

MOST_DAYS = 366
_COLUMNS = (*OUTCOMES, *UNKNOWN, "escalated", "waited_ms")
HOURS = 24


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What figures are wanted: the days (both with it, at most MOST_DAYS), and what requests are narrowed to."""

    workspace_id: uuid.UUID
    first: date
    last: date
    agent: uuid.UUID | None = None
    tool: str = ""
    rule: str | None = None
    team: uuid.UUID | None = None

    @property
    def length(self) -> int:
        """Days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> date:
        """The first of as many days before."""
        return self.first - timedelta(days=self.length)

    def fits(self, one: Slice) -> bool:
        """Whether a slice is wanted."""
        return (
            (self.agent is None or one.agent_id == self.agent)
            and (not self.tool or one.tool_name == self.tool)
            and (self.rule is None or one.rule == self.rule)
            and (self.team is None or str(self.team) in one.teams.split())
        )


@dataclass
class Outcomes:
    """How some requests ended, and how long those waited that people answered (milliseconds)."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COLUMNS, 0))
    waits: Sketch = b""
    parts: list[Outcomes] = field(default_factory=list)
    """Whose waits are in these, too: counted once, and then added up."""

    def take(self, part: Outcomes) -> None:
        """Adds what is in another one."""
        for name, value in part.counts.items():
            self.counts[name] += value
        self.parts.append(part)

    @cached_property
    def times(self) -> tuple[float | None, float | None]:
        """The median and the 95th percentile of the waits; asked when all of them are there."""
        found = quantiles_of(self.buckets, (0.5, 0.95))
        return (found[0], found[1]) if found else (None, None)

    @cached_property
    def buckets(self) -> Counter[int]:
        """The waits by bucket."""
        found = tally([self.waits])
        for part in self.parts:
            found.update(part.buckets)
        return found

    @property
    def answered(self) -> int:
        """Requests that people answered."""
        return sum(self.counts[name] for name in BY_PEOPLE)

    @property
    def ended(self) -> int:
        """Requests for an approval that became final, however."""
        return sum(self.counts[name] for name in OUTCOMES)

    def rate(self, name: str) -> float | None:
        """The share of an answer among those of people, or of `expired` among all; None without any."""
        whole = self.answered if name in BY_PEOPLE else self.ended
        return self.counts[name] / whole if whole else None


def together(many: Iterable[Outcomes]) -> Outcomes:
    """Several as one."""
    found = Outcomes()
    for one in many:
        found.take(one)
    return found


@dataclass(frozen=True, kw_only=True)
class Depth:
    """An hour of the day, on average: how many waited at its end, and how many expired in it."""

    hour: int
    waiting: float
    expired: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All that is counted by slices. by_team: a request that several teams were asked counts in each of them."""

    asked: Asked
    total: Outcomes
    before: Outcomes
    by_day: dict[date, Outcomes]
    by: dict[str, dict[Any, Outcomes]]
    paths: list[tuple[str, str, int]]
    """Tool, place and calls, the most changed first."""


CUTS: dict[str, Callable[[Slice], Iterable[Hashable]]] = {
    "tool": lambda one: (one.tool_name,),
    "agent": lambda one: (one.agent_id,),
    "rule": lambda one: (one.rule,),
    "team": lambda one: map(uuid.UUID, one.teams.split()),
}
MOST_PATHS = 20


def figures(asked: Asked, cuts: Iterable[str] = tuple(CUTS)) -> Figures:
    """The figures of requests; four queries, of which two go through the days and give a row for each day and slice.

    Args:
        cuts: by what the period is to be divided, of CUTS.
    """
    slices = {one.pk: one for one in Slice.objects.filter(workspace_id=asked.workspace_id) if asked.fits(one)}
    rows = Answered.objects.filter(
        workspace_id=asked.workspace_id, day__gte=asked.before, day__lte=asked.last
    )
    if _is_narrow(asked):
        rows = rows.filter(slice__in=list(slices))
    total, before = Outcomes(), Outcomes()
    by_day: dict[date, Outcomes] = {}
    for day, one in _summed(rows, "day"):
        if day < asked.first:
            before.take(one)
        else:
            by_day[day] = one
            total.take(one)
    by: dict[str, dict[Any, Outcomes]] = {name: defaultdict(Outcomes) for name in cuts}
    for key, one in _summed(rows.filter(day__gte=asked.first), "slice"):
        for cut, places in by.items():
            for value in CUTS[cut](slices[key]):
                places[value].take(one)
    return Figures(
        asked=asked,
        total=total,
        before=before,
        by_day=by_day,
        by={
            name: {key: one for key, one in sorted(cut.items(), key=_most) if one.ended}
            for name, cut in by.items()
        },
        paths=_paths(asked, slices),
    )


def depth(workspace_id: uuid.UUID, first: date, last: date, now: datetime) -> list[Depth]:
    """How deep the queue is by the hour of the day, on average over the days; of the whole workspace.

    Hours that have not ended yet are left out.
    """
    rows = Hour.objects.filter(workspace_id=workspace_id)
    sums = rows.filter(at__lt=start_of(first)).aggregate(opened=Sum("opened"), closed=Sum("closed"))
    waiting = (sums["opened"] or 0) - (sums["closed"] or 0)
    known = {
        at: (opened - closed, expired)
        for at, opened, closed, expired in rows.filter(
            at__gte=start_of(first), at__lt=start_of(last) + ONE
        ).values_list("at", "opened", "closed", "expired")
    }
    found = [[0, 0, 0] for _ in range(HOURS)]
    at, one = start_of(first), timedelta(hours=1)
    while at + one <= now and at < start_of(last) + ONE:
        more, expired = known.get(at, (0, 0))
        waiting += more
        sums_of = found[at.hour]
        sums_of[0] += 1
        sums_of[1] += waiting
        sums_of[2] += expired
        at += one
    return [
        Depth(hour=hour, waiting=waits / (many or 1), expired=expired / (many or 1))
        for hour, (many, waits, expired) in enumerate(found)
    ]


def _is_narrow(asked: Asked) -> bool:
    return bool(asked.agent or asked.tool or asked.team) or asked.rule is not None


def _summed(rows: QuerySet[Answered], by: str) -> Iterable[tuple[Any, Outcomes]]:
    """Each day or slice with its outcomes."""
    sums = {f"all_{name}": Sum(name) for name in _COLUMNS}
    for key, waits, *counts in rows.order_by().values_list(by).annotate(all_waits=Joined("waits"), **sums):
        yield key, Outcomes(dict(zip(_COLUMNS, counts, strict=True)), waits)


def _most(pair: tuple[Any, Outcomes]) -> tuple[int, str]:
    return -pair[1].ended, str(pair[0])


def _paths(asked: Asked, slices: dict[int, Slice]) -> list[tuple[str, str, int]]:
    rows = EditedPath.objects.filter(
        workspace_id=asked.workspace_id, day__gte=asked.first, day__lte=asked.last
    )
    if _is_narrow(asked):
        rows = rows.filter(slice__in=list(slices))
    found = (
        rows.order_by()
        .values_list("slice__tool_name", "path")
        .annotate(all_calls=Sum("calls"))
        .order_by("-all_calls", "slice__tool_name", "path")
    )
    return [(tool, path, calls) for tool, path, calls in found[:MOST_PATHS]]
