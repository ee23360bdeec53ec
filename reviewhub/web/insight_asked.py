"""What the address of the insights page asks for: days, and what the figures are narrowed to."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from reviewhub.accounts.models import Agent, Team
from reviewhub.audit.queries import NOBODY
from reviewhub.insights.days import LAST, THIS, month_of
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
    month: str
    """`this` or `last`; empty when days are asked for otherwise."""
    agents: list[Agent]
    teams: list[Team]
    tools: list[str]
    rules: list[str]
    unknown: list[str]
    """What was asked for and is there not, in words; nothing is shown of it."""
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
    """What the address asks for, an agent and a team by id or name; too many days are cut at their beginning."""
    days, month, first, last = _days(given, today)
    agents, teams = (
        Agent.objects.filter(workspace_id=workspace_id),
        Team.objects.filter(workspace_id=workspace_id),
    )
    agent, team = _one(agents, given.get("agent", "")), _one(teams, given.get("team", ""))
    slices = Slice.objects.filter(workspace_id=workspace_id).order_by()
    rule = given.get("rule", "")[:200]
    asked = Asked(
        workspace_id=workspace_id,
        first=first,
        last=last,
        agent=agent,
        tool=given.get("tool", "")[:200],
        rule=None if not rule else "" if rule == NO_RULE else rule,
        team=team,
    )
    return Choices(
        asked=asked,
        days=days,
        month=month,
        unknown=[
            f"{kind} {given[kind][:80]}" for kind, one in (("agent", agent), ("team", team)) if one == NOBODY
        ],
        agents=list(agents.order_by("name")[:MOST_CHOICES]),
        teams=list(teams.order_by("name")[:MOST_CHOICES]),
        tools=_some(slices.values_list("tool_name", flat=True).distinct()),
        rules=_some(slices.exclude(rule="").values_list("rule", flat=True).distinct()),
        query=_without(given, "days", "month", "since", "until"),
        cutless=_without(given, "by"),
        whole=_without(given),
    )


def _days(given: QueryDict, today: date) -> tuple[int | None, str, date, date]:
    """How many days up to today, or which month; and the first and the last day."""
    since, until = _day(given.get("since", "")), _day(given.get("until", ""))
    if since is None and until is None:
        if (month := given.get("month")) in (THIS, LAST):
            return None, month, *month_of(month, today)
        text = given.get("days", "")
        days = int(text) if text in map(str, PERIODS) else USUAL
        return days, "", today - timedelta(days=days - 1), today
    last = min(until or today, today)
    first = min(since or last - timedelta(days=USUAL - 1), last)
    return None, "", max(first, last - timedelta(days=MOST_DAYS - 1)), last


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


def _one(rows: QuerySet[Any], text: str) -> uuid.UUID | None:
    """Whose id or name this is; NOBODY when there is none, of whom there are no figures."""
    if not text:
        return None
    try:
        found = rows.filter(pk=uuid.UUID(text))
    except ValueError:
        found = rows.filter(name=text[:200])
    one = found.values_list("pk", flat=True).first()
    return one if one is not None else NOBODY
