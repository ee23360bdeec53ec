"""The hint to a worker that a waking can be read; losing it costs one sweep, never a waking."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.celery import app
from reviewhub.resumptions.models import Resumption

# By name, since the layer that runs it stands above this one.
RESUME_TASK = "reviewhub.hosting.tasks.resume"


def nudge(resumption_id: uuid.UUID) -> None:
    """Sends the id to the broker. Raises what the broker's client raises when there is none."""
    app.send_task(RESUME_TASK, args=[str(resumption_id)])


def nudge_after_commit(resumption: Resumption) -> None:
    """Sends the id to the broker once the running transaction is in; a dead broker is logged and no more.

    Before whatever else is done after the commit: a worker waits for it, and pages do not mind a millisecond.
    """

    # A function of its own: Django logs the name of a robust hook that failed, and a partial has none.
    def publish() -> None:
        nudge(resumption.pk)

    transaction.on_commit(publish, robust=True)
    hooks = transaction.get_connection().run_on_commit
    hooks.insert(0, hooks.pop())
