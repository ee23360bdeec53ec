"""Reads of backtests, for pages."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.insights.minutes import pace
from reviewhub.insights.models import Backtest, BacktestCall
from reviewhub.insights.rules import FAILED, LET_REJECTED, AlwaysApproved, Tally
from reviewhub.policies.models import PolicyDraft

HEADINGS = (LET_REJECTED, "held", "freed", "denied", "rerouted", FAILED)
MOST_LISTED = 10
MOST_TOOLS = 10


@dataclass(frozen=True, kw_only=True)
class Group:
    """The calls under one heading: how many, and some of them."""

    heading: str
    count: int
    calls: list[BacktestCall]


@dataclass(frozen=True, kw_only=True)
class TeamLoad:
    """Approvals a day that are asked of a team, by the policy in force and by the draft, and what that means."""

    team: str
    now: float
    then: float
    seconds: float

    @property
    def minutes(self) -> float:
        """Extra minutes a day; fewer than none when the draft spares them."""
        return (self.then - self.now) * self.seconds / 60


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a backtest found so far."""

    backtest: Backtest
    tally: Tally
    groups: list[Group]
    teams: list[TeamLoad]
    always_approved: list[AlwaysApproved]
    pace_is_assumed: bool

    @property
    def percent(self) -> int:
        """How far it is."""
        total = self.backtest.total
        return 100 if not total else min(100, 100 * self.backtest.looked_at // total)


def report(draft: PolicyDraft) -> Report | None:
    """The newest backtest of a draft, None when there is none."""
    found = Backtest.objects.filter(draft=draft).order_by("-created_at").first()
    if found is None:
        return None
    tally, speed = Tally.loads(found.figures), pace(found.workspace_id)
    return Report(
        backtest=found,
        tally=tally,
        groups=[
            Group(heading=heading, count=tally.changes[heading], calls=_calls(found, heading))
            for heading in HEADINGS
            if heading in tally.changes
        ],
        teams=[
            TeamLoad(team=team, now=now / found.days, then=then / found.days, seconds=speed.of(team))
            for team, (now, then) in sorted(tally.teams.items())
        ],
        always_approved=tally.always_approved[:MOST_TOOLS],
        pace_is_assumed=speed.is_assumed,
    )


def _calls(backtest: Backtest, heading: str) -> list[BacktestCall]:
    rows = BacktestCall.objects.filter(backtest=backtest, heading=heading).order_by("-id")
    return list(rows.select_related("tool_call__agent")[:MOST_LISTED])
