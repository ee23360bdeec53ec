"""What the address of the insights page asks for: days, and what the figures are narrowed to."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.http import QueryDict

from reviewhub.accounts.models import Agent, Team
from reviewhub.insights.days import LAST, month_before
from reviewhub.insights.figures import MOST_DAYS, Asked
from reviewhub.insights.models import Slice
from reviewhub.insights.present_figures import NO_RULE

PERIODS = (7, 30, 90, 365)
USUAL = 30
MOST_CHOICES = 200


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What can be chosen, and what is chosen, as the form shows it."""

    asked: Asked
    days: int | None
    is_last_month: bool
    agents: list[Agent]
    teams: list[Team]
    tools: list[str]
    rules: list[str]
    query: str
    """The address without the days: what a link to another period keeps."""
    cutless: str
    """The address without how outcomes are divided."""
    whole: str

    @property
    def narrows(self) -> bool:
        """Whether anything but the days is chosen."""
        one = self.asked
        return bool(one.agent or one.tool or one.team) or one.rule is not None

    @property
    def rule(self) -> str:
        """The chosen rule as the address has it."""
        return "" if self.asked.rule is None else self.asked.rule or NO_RULE


def read(given: QueryDict, workspace_id: uuid.UUID, today: date) -> Choices:
    """What the address asks for; what cannot be read asks for nothing, and too many days are cut at their beginning."""
    days, is_last_month, first, last = _days(given, today)
    slices = Slice.objects.filter(workspace_id=workspace_id).order_by()
    rule = given.get("rule", "")[:200]
    asked = Asked(
        workspace_id=workspace_id,
        first=first,
        last=last,
        agent=_uuid(given.get("agent", "")),
        tool=given.get("tool", "")[:200],
        rule=None if not rule else "" if rule == NO_RULE else rule,
        team=_uuid(given.get("team", "")),
    )
    return Choices(
        asked=asked,
        days=days,
        is_last_month=is_last_month,
        agents=list(Agent.objects.filter(workspace_id=workspace_id).order_by("name")[:MOST_CHOICES]),
        teams=list(Team.objects.filter(workspace_id=workspace_id).order_by("name")[:MOST_CHOICES]),
        tools=_some(slices.values_list("tool_name", flat=True).distinct()),
        rules=_some(slices.exclude(rule="").values_list("rule", flat=True).distinct()),
        query=_without(given, "days", "month", "since", "until"),
        cutless=_without(given, "by"),
        whole=_without(given),
    )


def _days(given: QueryDict, today: date) -> tuple[int | None, bool, date, date]:
    """How many days up to today, or whether it is the last month; and the first and the last day."""
    since, until = _day(given.get("since", "")), _day(given.get("until", ""))
    if since is None and until is None:
        if given.get("month") == LAST:
            return None, True, *month_before(today)
        text = given.get("days", "")
        days = int(text) if text in map(str, PERIODS) else USUAL
        return days, False, today - timedelta(days=days - 1), today
    last = min(until or today, today)
    first = min(since or last - timedelta(days=USUAL - 1), last)
    return None, False, max(first, last - timedelta(days=MOST_DAYS - 1)), last


def _some(names: Any) -> list[str]:
    return sorted(names[:MOST_CHOICES])


def _without(given: QueryDict, *names: str) -> str:
    rest = given.copy()
    for name in names:
        rest.pop(name, None)
    return rest.urlencode()


def _day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if 2000 <= found.year <= 2999 else None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None
