"""Celery entries of backtests."""

from __future__ import annotations

import uuid

from celery import shared_task

from reviewhub.insights import sweep as sweeping
from reviewhub.insights.nudge import nudge
from reviewhub.insights.work_off import work_off


@shared_task(name="reviewhub.insights.tasks.backtest")
def backtest(backtest_id: str) -> bool:
    """Does a few seconds of a backtest, and lets other work come in between."""
    more = work_off(uuid.UUID(backtest_id))
    if more:
        nudge(uuid.UUID(backtest_id))
    return more


@shared_task(name="reviewhub.insights.tasks.sweep")
def sweep() -> int:
    """Hands out backtests that no worker has."""
    return sweeping.sweep()
