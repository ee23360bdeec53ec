"""Counts what workers did in the shifts that began on one day."""

from __future__ import annotations

from datetime import date

from django.db.models import Count, F, Q, QuerySet, Sum

from reviewhub.accounts.models import Agent
from reviewhub.hosting.models import Shift
from reviewhub.insights.days import ONE, start_of
from reviewhub.insights.models import Worked

_LOST = Q(ending__in=[Shift.Ending.LOST, Shift.Ending.FAILED])


def count_work(day: date) -> list[Worked]:
    """The rows of a day: of shifts that ended."""
    rows = (
        _shifts(day)
        .filter(ended_at__isnull=False)
        .values("workspace_id", "agent_id")
        .annotate(
            sum_useful=Sum("useful_us"),
            sum_replay=Sum("replay_us"),
            sum_recovery=Sum("recovery_us"),
            sum_overhead=Sum(F("saving_us") + F("ledger_us")),
            lost=Count("id", filter=_LOST),
            sum_paid=Sum("paid"),
            sum_spared=Sum("spared"),
        )
    )
    return [
        Worked(
            workspace_id=row["workspace_id"],
            agent_id=row["agent_id"],
            day=day,
            useful_us=row["sum_useful"],
            replay_us=row["sum_replay"],
            recovery_us=row["sum_recovery"],
            overhead_us=row["sum_overhead"],
            losses=row["lost"],
            paid=row["sum_paid"],
            spared=row["sum_spared"],
        )
        for row in rows
    ]


def has_open_shift(day: date) -> bool:
    """Whether a shift that began on the day has not ended, and would be missing."""
    return _shifts(day).filter(ended_at__isnull=True).exists()


def _shifts(day: date) -> QuerySet[Shift]:
    since = start_of(day)
    # The index is by agent first.
    agents = list(Agent.objects.values_list("pk", flat=True))
    return Shift.objects.filter(agent__in=agents, began_at__gte=since, began_at__lt=since + ONE)
