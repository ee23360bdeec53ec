"""A worker and a database that is away for a moment: restarted, cut off, its disk full."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from reviewhub.hosting.drain import this_worker

T = TypeVar("T")
logger = logging.getLogger(__name__)
AWAY = (OperationalError, InterfaceError)
PATIENCE = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


def outlast(act: Callable[[], T]) -> T:
    """What `act` returns once the database takes it, tried again for a minute or until this worker is told to stop.

    For what only this process knows, that a tool began and how it ended: lost, a person would be asked about it.

    Args:
        act: may have been committed although its answer was lost, so a repeat has to answer the same.

    Raises:
        OperationalError, InterfaceError: the database did not come back in time.
    """
    until = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    while True:
        try:
            return act()
        except AWAY as error:
            if this_worker.is_on or time.monotonic() + pause > until:
                raise
            logger.warning("the database is away, trying again: %s", error)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        drop_if_broken()


def drop_if_broken() -> None:
    """Lets the next statement connect anew if this thread's connection is of no use any more."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
