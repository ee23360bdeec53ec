"""The hint to a worker that a backtest goes on; losing it costs one sweep."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.celery import app

TASK = "reviewhub.insights.tasks.backtest"


def nudge(backtest_id: uuid.UUID) -> None:
    """Sends the id to the broker. Raises what the broker's client raises when there is none."""
    app.send_task(TASK, args=[str(backtest_id)])


def nudge_after_commit(backtest_id: uuid.UUID) -> None:
    """Sends the id to the broker once the running transaction is in; a dead broker is logged and no more."""

    # A function of its own: Django logs the name of a robust hook that failed, and a partial has none.
    def publish() -> None:
        nudge(backtest_id)

    transaction.on_commit(publish, robust=True)
