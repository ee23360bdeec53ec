"""Requests that somebody opened or closed: no event tells of it, so the tailer does not find it.

Asked only while somebody follows a queue or a run in this process, and not more often than every LOOK_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from reviewhub.core.clock import DbNow
from reviewhub.live.hub import Hint
from reviewhub.reviews.models import Look

LOOK_SECONDS = 1.0
LOOKED = "request.looked"
"""Kind of the hint; no event has it."""
MOST = 2000

Sight = tuple[UUID, UUID, UUID]


class Looks:
    """Who was seen to have which request open last."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seen: dict[Sight, frozenset[UUID]] = {}
        self._clock = clock
        self._next = 0.0

    def look(self, *, is_followed: bool) -> list[Hint]:
        """A hint for each request that is open to others than at the last look."""
        if not is_followed or self._clock() < self._next:
            return []
        self._next = self._clock() + LOOK_SECONDS
        known, self._seen = self._seen, _sights()
        return [
            Hint(event_id=0, kind=LOOKED, workspace_id=sight[0], run_id=sight[1], request_id=sight[2])
            for sight in known.keys() | self._seen.keys()
            if known.get(sight) != self._seen.get(sight)
        ]


def _sights() -> dict[Sight, frozenset[UUID]]:
    rows = Look.objects.filter(until__gt=DbNow()).order_by("-until")
    found: dict[Sight, set[UUID]] = {}
    for *sight, member in rows.values_list(
        "request__workspace_id", "request__run_id", "request_id", "member_id"
    )[:MOST]:
        found.setdefault((sight[0], sight[1], sight[2]), set()).add(member)
    return {sight: frozenset(members) for sight, members in found.items()}
