"""A worker is told to stop: it begins nothing new, and what it cannot finish in time another worker may take at once.

Every run gives its branch back at its next write. One whose step takes longer than the grace time is given back while
the step still runs: its writes are refused from then on. That is not done while a call runs that must not run twice:
its outcome may still come, and who took the branch over would have to ask people about it.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from reviewhub.core.errors import Conflict
from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.put_back import give_back
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.states import CallState
from reviewhub.tools.models import Effect

logger = logging.getLogger(__name__)


class Drain:
    """What one process holds, and whether it was told to stop."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._held: dict[uuid.UUID, Claimed] = {}

    @property
    def is_on(self) -> bool:
        """Whether this process was told to stop."""
        return self._told.is_set()

    @contextmanager
    def holding(self, claimed: Claimed) -> Iterator[None]:
        """Around what runs a branch."""
        self._held[claimed.branch.pk] = claimed
        try:
            yield
        finally:
            self._held.pop(claimed.branch.pk, None)

    def begin(self, *, seconds: float) -> None:
        """Begins nothing any more; after `seconds` gives back what is still held."""
        if self._told.is_set():
            return
        self._told.set()
        timer = threading.Timer(seconds, self._late)
        timer.daemon = True
        timer.start()

    def give_back_all(self) -> int:
        """Gives back what is held and may be; how many branches that were."""
        return sum(_give_back(claimed) for claimed in list(self._held.values()))

    def _late(self) -> None:
        try:
            self.give_back_all()
        finally:
            connections.close_all()  # those of this thread


def _give_back(claimed: Claimed) -> bool:
    running = ToolCall.objects.filter(branch=claimed.branch, state=CallState.STARTED, effect=Effect.ONCE)
    if running.exists():
        logger.warning("branch %s keeps its lease: a call that must not run twice runs", claimed.branch.pk)
        return False
    try:
        give_back(resumption=claimed.resumption, branch=claimed.branch)
    except Conflict:
        return False  # It ended or paused in this moment.
    logger.warning("branch %s given back in the middle of a step: this worker stops", claimed.branch.pk)
    return True


this_worker = Drain()
