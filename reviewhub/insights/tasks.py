"""Celery entries of backtests, figures and alarms."""

from __future__ import annotations

import uuid

from celery import shared_task

from reviewhub.insights import raise_alarms as alarms
from reviewhub.insights import roll_up as rolling
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


@shared_task(name="reviewhub.insights.tasks.roll_up")
def roll_up() -> int:
    """Brings the figures of days up to date."""
    return rolling.roll_up()


@shared_task(name="reviewhub.insights.tasks.raise_alarms")
def raise_alarms() -> int:
    """Tells managers of what ran although policy would have held or denied it."""
    return alarms.raise_alarms()
