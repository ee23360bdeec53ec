"""What an address asks of the insights, read when it is needed: for the page, its files and the API the same."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Final

from reviewhub.accounts.models import Agent, Team
from reviewhub.insights import tables
from reviewhub.insights.afterwards import afterwards
from reviewhub.insights.figures import CUTS, Asked, Depth, Figures, Outcomes, depth, figures, together
from reviewhub.insights.people import Reviewer, reviewers
from reviewhub.insights.tables import Table
from reviewhub.insights.troubles import Troubles, troubles
from reviewhub.insights.work import Work, work

DAILY: Final = 92
"""Up to so many days a chart has a point for each of them, else for each week."""
FORTNIGHT: Final = 14
FILED: Final = 1000
"""Calls of each kind in the table of what needs a look."""
OUTCOMES: Final = "outcomes-by-"
NAMED: Final[dict[str, type[Agent | Team]]] = {"agent": Agent, "team": Team}


class Found:
    """What one address asks for, read when it is needed and once.

    Args:
        at: the moment as of which it is.
        cuts: by what outcomes are divided, of CUTS; a page that shows two of them need not count four.
    """

    def __init__(self, asked: Asked, at: datetime, cuts: Iterable[str] = tuple(CUTS)) -> None:
        self.asked, self.at, self.cuts = asked, at, tuple(cuts)

    @cached_property
    def figures(self) -> Figures:
        """Of requests."""
        return figures(self.asked, self.cuts)

    @cached_property
    def people(self) -> list[Reviewer]:
        """Of those who voted; of a team those who are in it."""
        return reviewers(self.asked.workspace_id, self.asked.first, self.asked.last, self.asked.team)

    @cached_property
    def work(self) -> dict[uuid.UUID, Work]:
        """Of hosted agents."""
        return work(self.asked)

    @cached_property
    def afterwards(self) -> dict[date, Counter[str]]:
        """What was found of what ran without waiting; of more than a fortnight by week, since it is little."""
        step = 7 if self.asked.length > FORTNIGHT else 1
        found: dict[date, Counter[str]] = {}
        for day, counts in afterwards(self.asked).items():
            found.setdefault(self._step(day, step), Counter()).update(counts)
        return found

    @cached_property
    def queue(self) -> list[Depth]:
        """How deep the queue was, by the hour of the day; of the whole workspace."""
        asked = self.asked
        return depth(asked.workspace_id, asked.first, asked.last, self.at)

    def troubles(self, most: int) -> Troubles:
        """What should not be."""
        return troubles(self.asked, self.at, most=most)

    @cached_property
    def steps(self) -> list[tuple[date, Outcomes]]:
        """The period in days or weeks; each of them, also those in which nothing was decided."""
        step = 1 if self.asked.length <= DAILY else 7
        days: dict[date, list[Outcomes]] = {}
        day = self.asked.first
        while day <= self.asked.last:
            one = self.figures.by_day.get(day)
            days.setdefault(self._step(day, step), []).extend([one] if one else [])
            day += timedelta(days=1)
        return [(day, many[0] if len(many) == 1 else together(many)) for day, many in days.items()]

    def names(self, cut: str) -> Mapping[Any, str]:
        """What the values of a cut are called."""
        if cut in NAMED:
            rows = NAMED[cut].objects.filter(workspace_id=self.asked.workspace_id)
            return dict(rows.values_list("pk", "name"))
        return {"": "no rule"} if cut == "rule" else {}

    def _step(self, day: date, step: int) -> date:
        """The first day of the step of so many days that a day is in."""
        return self.asked.first + timedelta(days=(day - self.asked.first).days // step * step)


def _time(found: Found) -> Table:
    return tables.time_table(found.steps)


def _queue(found: Found) -> Table:
    return tables.queue_table(found.queue)


def _edits(found: Found) -> Table:
    return tables.edit_table(found.figures.paths)


def _people(found: Found) -> Table:
    return tables.people_table(found.people)


def _work(found: Found) -> Table:
    return tables.work_table(found.work, found.figures.by["agent"], found.names("agent"))


def _afterwards(found: Found) -> Table:
    return tables.afterwards_table(found.afterwards)


def _troubles(found: Found) -> Table:
    return tables.trouble_table(found.troubles(FILED))


def _outcomes(cut: str) -> Callable[[Found], Table]:
    return lambda found: tables.outcome_table(cut, found.figures.by[cut], found.names(cut))


TABLES: Final[dict[str, Callable[[Found], Table]]] = {
    "time-to-decision": _time,
    "queue-by-hour": _queue,
    **{f"{OUTCOMES}{cut}": _outcomes(cut) for cut in CUTS},
    "edits": _edits,
    "reviewers": _people,
    "agents-at-work": _work,
    "reviewed-afterwards": _afterwards,
    "needs-a-look": _troubles,
}
"""What the page shows, files hold and the API answers with, by its name."""
