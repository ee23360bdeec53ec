"""The insights page: whether reviewing works, in figures that people can look at, and each of them as a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from reviewhub.accounts.permissions import Action, MemberCaller
from reviewhub.core.clock import now
from reviewhub.core.display.shares import percent
from reviewhub.core.errors import NotFound
from reviewhub.insights import tables
from reviewhub.insights.afterwards import agreement, still_open
from reviewhub.insights.days import day_of
from reviewhub.insights.figures import CUTS, Asked
from reviewhub.insights.found import OUTCOMES, TABLES, Found
from reviewhub.insights.models import RolledDay
from reviewhub.insights.queue_now import queue_now
from reviewhub.insights.tables import Table
from reviewhub.insights.work import all_work, work
from reviewhub.reviews.draw import ALARM
from reviewhub.reviews.states import SEVERITIES
from reviewhub.web import insight_charts as charts
from reviewhub.web.access import page
from reviewhub.web.insight_asked import PERIODS, read
from reviewhub.web.render import show

LISTED = 5
SHOWN, EDITS = 12, 8
TROUBLES = {
    "unapproved": _("Ran without the approval that policy asks for"),
    "unused": _("Approved by people, never executed"),
}


@dataclass(frozen=True)
class Card:
    """One table with its chart. `more`: rows that only the file has."""

    table: Table
    chart: SafeString
    more: int = 0


@require_safe
@page(Action.INSIGHTS_READ)
def insights(request: HttpRequest, caller: MemberCaller) -> HttpResponse:
    """The page. `?days=`, `?month=this` (`last`) or `?since=&until=` say which days, `?agent= tool= rule= team=` what
    they are narrowed to, `?by=` how outcomes are divided."""
    at = now()
    choices = read(request.GET, caller.workspace_id, day_of(at))
    by = request.GET.get("by", "")
    by = by if by in CUTS else next(iter(CUTS))
    found = Found(choices.asked, at, {by, "agent"})  # the agents at work are shown, too
    outcomes, at_work = _cut(TABLES[f"{OUTCOMES}{by}"](found)), _cut(TABLES["agents-at-work"](found))
    edits, people = TABLES["edits"](found), _cut(TABLES["reviewers"](found))
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
        "time": Card(TABLES["time-to-decision"](found), charts.time_chart(found.steps)),
        "queue_now": queue_now(caller.workspace_id, at),
        "queue": Card(TABLES["queue-by-hour"](found), charts.queue_chart(found.queue)),
        "outcomes": outcomes,
        "outcome_rows": zip(outcomes.table.rows, charts.outcome_bars(found.figures.by[by]), strict=False),
        "edits": edits,
        "edit_rows": list(zip(edits.rows[:EDITS], charts.edit_bars(found.figures.paths), strict=False)),
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
        "work_words": charts.WORK,
        "total_work": all_work(found.work),
        "troubles": found.troubles(LISTED),
        "says": TROUBLES,
        "alarms": _alarms(choices.asked),
        "total": found.figures.total,
        "waited": tables.time_words(found.figures.total.counts["waited_ms"] / 1000),
        **_looked(found),
    }
    return show(request, caller, "web/insights.html", context, nav="insights")


@require_safe
@page(Action.INSIGHTS_READ)
def download(request: HttpRequest, caller: MemberCaller, name: str) -> HttpResponse:
    """One table as CSV, of the same days and narrowed to the same as the page."""
    if name not in TABLES:
        raise NotFound
    at = now()
    found = Found(read(request.GET, caller.workspace_id, day_of(at)).asked, at)
    answer = HttpResponse(TABLES[name](found).csv(), content_type="text/csv; charset=utf-8")
    asked = found.asked
    answer["Content-Disposition"] = f'attachment; filename="{name}-{asked.first}-{asked.last}.csv"'
    return answer


def _alarms(asked: Asked) -> str:
    """The query with which the audit log shows exactly the alarms of these days, by when each was drawn for a look."""
    given = {
        "kind": "post_review.drawn",
        "q": f'"{ALARM}"',
        "agent": str(asked.agent or ""),
        "tool": asked.tool,
        "since": asked.first.isoformat(),
        "until": asked.last.isoformat(),
        "zone": "UTC",
    }
    return urlencode({name: value for name, value in given.items() if value})


def _looked(found: Found) -> dict[str, Any]:
    """What was looked at afterwards, in all."""
    counts = sum(found.afterwards.values(), Counter[str]())
    return {
        "afterwards": Card(TABLES["reviewed-afterwards"](found), charts.agreement_chart(found.afterwards)),
        "agreed": percent(agreement(counts)),
        "looked_many": sum(counts.values()),
        "open": still_open(found.asked),
        "flagged": [(name, counts[name]) for name in SEVERITIES if counts[name]],
    }


def _cut(table: Table) -> Card:
    """The first rows of a long table."""
    shown = Table(table.name, table.title, table.columns, table.rows[:SHOWN])
    return Card(shown, SafeString(""), more=max(0, len(table.rows) - SHOWN))
