"""Reads of backtests, for pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from reviewhub.insights.minutes import Source, pace
from reviewhub.insights.models import Backtest, BacktestCall
from reviewhub.insights.rules import FAILED, LET_REJECTED, AlwaysApproved, Tally
from reviewhub.policies.compare import UNDECIDED
from reviewhub.policies.models import PolicyDraft
from reviewhub.toolcalls.models import ToolCall

HEADINGS = (LET_REJECTED, "held", "freed", "denied", "rerouted", FAILED, UNDECIDED)
MOST_LISTED = 10
MOST_TOOLS = 10
MOST_UNDECIDED = 10
DAY = timedelta(days=1)


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
    measured: Source
    """Of whose votes the seconds are: this team's, all teams', or nobody's."""

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
    days: float
    """By how many days figures a day are divided: those asked for, or fewer where the record is younger."""
    undecided: list[tuple[str, int]]
    """Which rules of the draft could not be decided, why, and on how many calls; the most frequent first."""
    undecided_more: int
    """How many such texts are left out."""
    always_approved: list[AlwaysApproved]

    @property
    def undecided_calls(self) -> int:
        """On how many calls a rule of the draft could not be decided."""
        return self.tally.changes.get(UNDECIDED, 0)

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
    tally, speed, days = Tally.loads(found.figures), pace(found.workspace_id), _days(found)
    return Report(
        backtest=found,
        tally=tally,
        groups=[
            Group(heading=heading, count=tally.changes[heading], calls=_calls(found, heading))
            for heading in HEADINGS
            if heading in tally.changes
        ],
        teams=[
            TeamLoad(
                team=team,
                now=now / days,
                then=then / days,
                seconds=speed.of(team),
                measured=speed.source(team),
            )
            for team, (now, then) in sorted(tally.teams.items())
        ],
        days=days,
        undecided=sorted(tally.undecided.items(), key=lambda one: (-one[1], one[0]))[:MOST_UNDECIDED],
        undecided_more=max(0, len(tally.undecided) - MOST_UNDECIDED),
        always_approved=tally.always_approved[:MOST_TOOLS],
    )


def _days(backtest: Backtest) -> float:
    """How many of the days there is a record of, at least one."""
    calls = ToolCall.objects.filter(workspace_id=backtest.workspace_id).order_by("created_at")
    first = calls.values_list("created_at", flat=True).first()
    if first is None or first <= backtest.since:
        return float(backtest.days)
    return max(1.0, (backtest.until - first) / DAY)


def _calls(backtest: Backtest, heading: str) -> list[BacktestCall]:
    rows = BacktestCall.objects.filter(backtest=backtest, heading=heading).order_by("-id")
    return list(rows.select_related("tool_call__agent")[:MOST_LISTED])
