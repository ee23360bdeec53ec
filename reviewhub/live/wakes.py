"""Requests that somebody had put off and whose time has come: no event tells of it, so the tailer does not find it.

Asked only while somebody follows a queue or a run in this process, and not more often than every LOOK_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from reviewhub.core.clock import now
from reviewhub.live.hub import Hint
from reviewhub.reviews.snooze import woken

LOOK_SECONDS = 1.0
WOKEN = "request.woken"
"""Kind of the hint; no event has it."""
MOST = 500


class Wakes:
    """Up to when it is told whose time has come."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._told: datetime | None = None
        self._clock = clock
        self._next = 0.0

    def look(self, *, is_followed: bool) -> list[Hint]:
        """A hint for each request that is back in somebody's queue since the last look.

        Nothing is told of the time in which nobody followed: a page that opens reads its rows itself.
        """
        if not is_followed:
            self._told = None
            return []
        if self._clock() < self._next:
            return []
        self._next = self._clock() + LOOK_SECONDS
        at = now()
        since, self._told = self._told or at, at
        rows = woken(since=since, until=at).values_list(
            "request__workspace_id", "request__run_id", "request_id"
        )
        return [
            Hint(event_id=0, kind=WOKEN, workspace_id=workspace, run_id=run, request_id=request)
            for workspace, run, request in rows.distinct()[:MOST]
        ]
