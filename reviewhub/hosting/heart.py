"""A worker's heartbeat: while a step runs, a thread prolongs the leases of its branch and waking."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections

from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.renew import renew
from reviewhub.runs.fence import StaleEpoch

logger = logging.getLogger(__name__)


@contextmanager
def beating(claimed: Claimed, seen: Callable[[], None]) -> Iterator[None]:
    """Renews the leases every third of their time until the block ends, or until they are somebody else's.

    Args:
        seen: called after each; writes down what the worker has measured so far.
    """
    stop = threading.Event()
    thread = threading.Thread(
        target=_beat, args=(claimed, seen, stop), name=f"heart-{claimed.branch.pk}", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(claimed: Claimed, seen: Callable[[], None], stop: threading.Event) -> None:
    try:
        while not stop.wait(settings.LEASE_SECONDS / 3):
            try:
                renew(resumption=claimed.resumption, branch=claimed.branch, seconds=settings.LEASE_SECONDS)
                seen()
            except StaleEpoch:
                # The branch paused or ended, or another process took it: the step's next write is refused.
                return
            except Exception:
                # Whatever it was: were this thread to end, a call that runs would soon be taken for a lost one.
                logger.warning(
                    "lease of branch %s not renewed, trying again", claimed.branch.pk, exc_info=True
                )
                connections.close_all()
    finally:
        connections.close_all()
