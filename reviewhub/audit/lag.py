"""How far the seal is behind the record: for the audit page and for /metrics."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reviewhub.audit.feed import is_after
from reviewhub.audit.horizon import Holder, holder
from reviewhub.audit.models import Chain, Event, Seal
from reviewhub.core import clock
from reviewhub.core.display import durations

LATE: Final = 30
"""From so many seconds on it is said what the oldest waiting event waits for: sealing takes some by itself."""

MOST: Final = 10_000
"""So many waiting events are counted, not more."""


@dataclass(frozen=True, kw_only=True)
class Lag:
    """What is sealed and what waits. `waiting` is MOST when there are that many or more.

    Args:
        sealed: the position of the newest sealed event; 0 when there is none.
        sealed_at: when that was, as the statement has it.
        seconds: how long the oldest event has waited.
        problem: why the sealer does not seal; "" when it does.
        held_by: the open transaction that the oldest waiting event waits for, once it is late.
    """

    sealed: int
    seals: int
    sealed_event: int | None
    sealed_at: datetime | None
    waiting: int
    seconds: float
    problem: str
    held_by: Holder | None

    @property
    def age(self) -> str:
        """How long the oldest event has waited, in words."""
        return durations.length(self.seconds)

    @property
    def why(self) -> str:
        """Why events wait for longer than sealing takes; "" while they do not."""
        if self.problem or self.seconds < LATE:
            return self.problem
        if self.held_by:
            return f"It waits for {self.held_by}."
        return "Nothing stands in the way, so no sealer has come by: is a worker running, and beat?"

    @property
    def words(self) -> str:
        """What waits, since when and why, for a line of a command."""
        if not self.waiting:
            return "nothing waits"
        many = f"{self.waiting}" if self.is_counted else f"{self.waiting} or more"
        said = f"{many} wait{'s' * (self.waiting == 1)}, the oldest for {self.age}"
        return f"{said}. {self.why}" if self.why else said

    @property
    def is_counted(self) -> bool:
        """Whether `waiting` is all that wait."""
        return self.waiting < MOST


def lag(workspace_id: uuid.UUID) -> Lag:
    """How it stands in one workspace."""
    head = Chain.objects.filter(pk=workspace_id).first() or Chain(workspace_id=workspace_id)
    seal = Seal.objects.filter(workspace_id=workspace_id).order_by("-number").first()
    waiting = Event.objects.filter(is_after(head.xid, head.event_id), workspace_id=workspace_id)
    xid, oldest = waiting.order_by("xid", "id").values_list("xid", "at").first() or (0, None)
    seconds = max((clock.now() - oldest).total_seconds(), 0.0) if oldest else 0.0
    return Lag(
        sealed=seal.last if seal else 0,
        seals=seal.number if seal else 0,
        sealed_event=head.event_id if seal and head.event_id > 0 else None,
        sealed_at=seal.latest if seal else None,
        waiting=waiting.order_by()[:MOST].count() if oldest else 0,
        seconds=seconds,
        problem=head.problem,
        held_by=holder(xid) if seconds >= LATE else None,
    )
