"""States of backtests, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class BacktestState(TextChoices):
    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


BACKTEST_EDGES: Edges = {
    "open": frozenset({"done", "cancelled", "failed"}),
    "done": frozenset(),
    "cancelled": frozenset(),
    "failed": frozenset(),
}
TABLES = ((BacktestState, BACKTEST_EDGES),)
