"""Finds backtests that no worker has: never heard of, between two slices, or of a worker that is gone."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q

from reviewhub.core.clock import now
from reviewhub.insights.models import Backtest
from reviewhub.insights.nudge import nudge
from reviewhub.insights.states import BacktestState
from reviewhub.insights.work_off import LEASE_SECONDS


def sweep() -> int:
    """Sends each to the workers again; how many there were. Sending one twice does no harm."""
    idle = Q(beat_at__isnull=True) | Q(beat_at__lt=now() - timedelta(seconds=LEASE_SECONDS))
    found = list(Backtest.objects.filter(idle, state=BacktestState.OPEN).values_list("pk", flat=True))
    for pk in found:
        nudge(pk)
    return len(found)
