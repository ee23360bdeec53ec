"""The hint that a webhook is to be asked. Losing it costs one sweep interval."""

from __future__ import annotations

import logging
import uuid

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)
TASK = "reviewhub.gates.tasks.verify_one"


def nudge(verdict_id: uuid.UUID) -> None:
    """Tells a worker; a broker that is down is logged and left to the sweep."""
    try:
        current_app.send_task(TASK, kwargs={"verdict_id": str(verdict_id)})
    except (OperationalError, OSError):
        log.warning("broker unreachable, verdict %s waits for the sweep", verdict_id)
