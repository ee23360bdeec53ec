"""The hint that an e-mail is due. Losing it costs one sweep interval."""

from __future__ import annotations

import logging
import uuid

from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


def nudge(email_id: uuid.UUID) -> None:
    """Tells a worker; a broker that is down is logged and left to the sweep."""
    from reviewhub.deliveries.tasks import send_one

    try:
        send_one.delay(email_id=str(email_id))
    except (OperationalError, OSError):
        log.warning("broker unreachable, e-mail %s waits for the sweep", email_id)
