"""The insights page: whether reviewing works, in figures that people can look at, and each of them as a file."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.clock import now
from reviewhub.core.errors import NotFound
from reviewhub.insights.afterwards import afterwards, agreement, still_open
from reviewhub.insights.days import day_of
from reviewhub.insights.figures import CUTS, Figures, Outcomes, depth, figures, together
from reviewhub.insights.models import RolledDay
from reviewhub.insights.people import Reviewer, reviewers
from reviewhub.insights.troubles import Troubles, troubles
from reviewhub.insights.work import Work, all_work, work
from reviewhub.reviews.states import SEVERITIES
from reviewhub.web import insight_charts as charts
from reviewhub.web import insight_tables as tables
from reviewhub.web.access import page
from reviewhub.web.insight_asked import PERIODS, Choices, read
from reviewhub.web.insight_tables import Table
from reviewhub.web.render import show

DAILY = 92
"""Up to so many days a chart has a point for each of them, else for each week."""
FORTNIGHT = 14
LISTED, FILED = 5, 1000
SHOWN, EDITS = 12, 8
TROUBLES = {
    "unapproved": _("Ran without the approval that policy asks for"),
    "unused": _("Approved by people, never executed"),
}
OUTCOMES = "outcomes-by-"


@dataclass(frozen=True)
class Card:
    """One table with its chart. `more`: rows that only the file has."""

    table: Table
    chart: SafeString
    more: int = 0


class Found:
    """What one address asks for, read when it is needed and once."""

    def __init__(self, choices: Choices, at: datetime) -> None:
        self.choices, self.asked, self.at = choices, choices.asked, at

    @cached_property
    def figures(self) -> Figures:
        """Of requests."""
        return figures(self.asked)

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
        if cut == "agent":
            return {one.pk: one.name for one in self.choices.agents}
        if cut == "team":
            return {one.pk: one.name for one in self.choices.teams}
        return {"": "no rule"} if cut == "rule" else {}

    def _step(self, day: date, step: int) -> date:
        """The first day of the step of so many days that a day is in."""
        return self.asked.first + timedelta(days=(day - self.asked.first).days // step * step)


def _time(found: Found) -> Table:
    return tables.time_table(found.steps)


def _queue(found: Found) -> Table:
    asked = found.asked
    return tables.queue_table(depth(asked.workspace_id, asked.first, asked.last, found.at))


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


FILES: dict[str, Callable[[Found], Table]] = {
    "time-to-decision": _time,
    "queue-by-hour": _queue,
    **{f"{OUTCOMES}{cut}": _outcomes(cut) for cut in CUTS},
    "edits": _edits,
    "reviewers": _people,
    "agents-at-work": _work,
    "reviewed-afterwards": _afterwards,
    "needs-a-look": _troubles,
}
"""What can be had as a file, by its name in the address."""


@require_safe
@page(Action.INSIGHTS_READ)
def insights(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The page. `?days=` or `?since=&until=` say which days, `?agent= tool= rule= team=` what they are narrowed to,
    `?by=` how outcomes are divided."""
    at = now()
    choices = read(request.GET, caller.workspace_id, day_of(at))
    found = Found(choices, at)
    by = request.GET.get("by", "")
    by = by if by in CUTS else next(iter(CUTS))
    outcomes, at_work = _cut(FILES[f"{OUTCOMES}{by}"](found)), _cut(_work(found))
    people = _cut(_people(found))
    context = {
        "choices": choices,
        "asked": choices.asked,
        "periods": PERIODS,
        "cuts": list(CUTS),
        "by": by,
        "as_of": RolledDay.objects.order_by("-day").first(),
        "kpis": charts.kpis(
            found.figures, found.steps, all_work(found.work), all_work(work(found.asked, is_before=True))
        ),
        "words": charts.LEGEND,
        "time": Card(_time(found), charts.time_chart(found.steps)),
        "queue": _queue_card(found),
        "outcomes": outcomes,
        "outcome_rows": zip(outcomes.table.rows, charts.outcome_bars(found.figures.by[by]), strict=False),
        "edits": _edits(found),
        "edit_rows": list(
            zip(_edits(found).rows[:EDITS], charts.edit_bars(found.figures.paths), strict=False)
        ),
        "people": people,
        "people_rows": zip(
            people.table.rows,
            charts.people_bars(found.people),
            [one.member.pk for one in found.people],
            strict=False,
        ),
        "work": at_work,
        "work_rows": zip(
            at_work.table.rows, charts.work_bars(found.work, found.figures.by["agent"]), strict=False
        ),
        "total_work": all_work(found.work),
        "troubles": found.troubles(LISTED),
        "says": TROUBLES,
        "total": found.figures.total,
        "waited": tables.time_words(found.figures.total.counts["waited_ms"] / 1000),
        **_looked(found),
    }
    return show(request, caller, "web/insights.html", context, nav="insights")


@require_safe
@page(Action.INSIGHTS_READ)
def download(request: HttpRequest, caller: MemberCaller, name: str) -> HttpResponse:
    """One table as CSV, of the same days and narrowed to the same as the page."""
    if name not in FILES:
        raise NotFound
    at = now()
    found = Found(read(request.GET, caller.workspace_id, day_of(at)), at)
    answer = HttpResponse(FILES[name](found).csv(), content_type="text/csv; charset=utf-8")
    asked = found.asked
    answer["Content-Disposition"] = f'attachment; filename="{name}-{asked.first}-{asked.last}.csv"'
    return answer


def _looked(found: Found) -> dict[str, Any]:
    """What was looked at afterwards, in all."""
    counts = sum(found.afterwards.values(), Counter[str]())
    return {
        "afterwards": Card(_afterwards(found), charts.agreement_chart(found.afterwards)),
        "agreed": tables.percent(agreement(counts)),
        "looked_many": sum(counts.values()),
        "open": still_open(found.asked.workspace_id),
        "flagged": [(name, counts[name]) for name in SEVERITIES if counts[name]],
    }


def _queue_card(found: Found) -> Card:
    asked = found.asked
    hours = depth(asked.workspace_id, asked.first, asked.last, found.at)
    return Card(tables.queue_table(hours), charts.queue_chart(hours))


def _cut(table: Table) -> Card:
    """The first rows of a long table."""
    shown = Table(table.name, table.title, table.columns, table.rows[:SHOWN])
    return Card(shown, SafeString(""), more=max(0, len(table.rows) - SHOWN))
