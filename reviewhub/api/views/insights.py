"""Whether reviewing works, in figures, for programs of people who may see them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from reviewhub_agents import wire

from reviewhub.accounts.permissions import Action, Target, require
from reviewhub.api.authentication import caller_of
from reviewhub.api.base import PersonView, answer
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid
from reviewhub.insights.days import LAST, THIS, day_of, month_of
from reviewhub.insights.figures import MOST_DAYS, Asked
from reviewhub.insights.found import Found
from reviewhub.insights.present_figures import NO_RULE, insights_out

USUAL: Final = 30
EARLIEST: Final = 2000
NAMES: Final = ("days", "month", "since", "until", "agent", "tool", "rule", "team")


class Insights(PersonView):
    """`GET /insights`"""

    takes = frozenset(NAMES)

    @extend_schema(
        parameters=[OpenApiParameter(name, int if name == "days" else str) for name in NAMES],
        responses=wire.InsightsOut,
    )
    def get(self, request: Request) -> HttpResponse:
        """The figures of the page Insights: of the last `days` (30), of the calendar month before this one
        (`month=last`), or from `since` to `until` (days of UTC, both with it), narrowed to an agent, a tool, a rule
        (`-` for none) or a team."""
        caller = caller_of(request)
        require(caller, Action.INSIGHTS_READ, Target(workspace_id=caller.workspace_id))
        at = now()
        asked = _asked(request.query_params, caller.workspace_id, day_of(at))
        return answer(insights_out(Found(asked, at)))


def _asked(given: Mapping[str, str], workspace_id: uuid.UUID, today: date) -> Asked:
    """What the address asks for. Raises Invalid for what is none: other figures would be answered for these."""
    for name in ("tool", "rule"):
        if not given.get(name, "-").strip():
            raise Invalid.at(f"/query/{name}", "This says nothing.")
    first, last = _days(given, today)
    rule = given.get("rule")
    return Asked(
        workspace_id=workspace_id,
        first=first,
        last=last,
        agent=_id("agent", given),
        tool=given.get("tool", ""),
        rule="" if rule == NO_RULE else rule,
        team=_id("team", given),
    )


def _days(given: Mapping[str, str], today: date) -> tuple[date, date]:
    if "month" in given:
        if given["month"] not in (THIS, LAST):
            raise Invalid.at(
                "/query/month", f"Only {THIS} and {LAST} can be asked for; other months by since and until."
            )
        if given.keys() & {"days", "since", "until"}:
            raise Invalid.at("/query/month", "Give month, or days, or since and until.")
        return month_of(given["month"], today)
    if "days" in given:
        if "since" in given or "until" in given:
            raise Invalid.at("/query/days", "Give days, or since and until.")
        text = given["days"]
        many = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        if not 1 <= many <= MOST_DAYS:
            raise Invalid.at("/query/days", f"A whole number from 1 to {MOST_DAYS}; {text[:20]!r} was given.")
        return today - timedelta(days=many - 1), today
    last = _day("until", given) or today
    if last > today:
        raise Invalid.at("/query/until", f"This day is still to come; today is {today}, by UTC.")
    first = _day("since", given) or last - timedelta(days=USUAL - 1)
    if not 0 <= (last - first).days < MOST_DAYS:
        raise Invalid.at("/query/since", f"From 1 to {MOST_DAYS} days can be asked for.")
    return first, last


def _day(name: str, given: Mapping[str, str]) -> date | None:
    try:
        found = date.fromisoformat(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no day like 2026-03-29.") from error
    if found is not None and found.year < EARLIEST:
        raise Invalid.at(f"/query/{name}", f"Nothing is older than the year {EARLIEST}.")
    return found


def _id(name: str, given: Mapping[str, str]) -> uuid.UUID | None:
    try:
        return uuid.UUID(given[name]) if name in given else None
    except ValueError as error:
        raise Invalid.at(f"/query/{name}", "This is no UUID.") from error
