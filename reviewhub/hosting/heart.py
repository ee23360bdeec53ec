"""A worker's heartbeat: while a step runs, a thread prolongs the leases of its branch and waking."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections
from reviewhub_agents.runtime.pulse import next_beat

from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.renew import renew
from reviewhub.runs.fence import StaleEpoch

logger = logging.getLogger(__name__)


@contextmanager
def beating(claimed: Claimed, seen: Callable[[], None]) -> Iterator[None]:
    """Renews the leases every third of their time until the block ends, or until they are somebody else's.

    One that fails is tried again much sooner.

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
    failed = 0
    try:
        while not stop.wait(_pause(failed)):
            try:
                renew(resumption=claimed.resumption, branch=claimed.branch, seconds=settings.LEASE_SECONDS)
                failed = 0
                _said(claimed, seen)
            except StaleEpoch:
                # The branch paused or ended, or another process took it: the step's next write is refused.
                return
            except Exception:
                # Whatever it was: were this thread to end, a call that runs would soon be taken for a lost one.
                failed += 1
                logger.warning(
                    "lease of branch %s not renewed, trying again", claimed.branch.pk, exc_info=True
                )
                connections.close_all()
    finally:
        connections.close_all()


def _pause(failed: int) -> float:
    # Chance and no secret: it only spreads the tries.
    return next_beat(lease=settings.LEASE_SECONDS, failed=failed, draw=random.random())  # noqa: S311


def _said(claimed: Claimed, seen: Callable[[], None]) -> None:
    """The figures are no part of the sign of life: what goes wrong with them hurries nothing."""
    try:
        seen()
    except Exception:
        logger.warning("figures of branch %s not written", claimed.branch.pk, exc_info=True)
        connections.close_all()
