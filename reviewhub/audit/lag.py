"""How far the seal is behind the record: for the audit page and for /metrics."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reviewhub.audit.feed import is_after
from reviewhub.audit.models import Chain, Event, Seal
from reviewhub.core import clock

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
    """

    sealed: int
    seals: int
    sealed_event: int | None
    sealed_at: datetime | None
    waiting: int
    seconds: float
    problem: str

    @property
    def is_counted(self) -> bool:
        """Whether `waiting` is all that wait."""
        return self.waiting < MOST


def lag(workspace_id: uuid.UUID) -> Lag:
    """How it stands in one workspace."""
    head = Chain.objects.filter(pk=workspace_id).first() or Chain(workspace_id=workspace_id)
    seal = Seal.objects.filter(workspace_id=workspace_id).order_by("-number").first()
    waiting = Event.objects.filter(is_after(head.xid, head.event_id), workspace_id=workspace_id)
    oldest = waiting.order_by("xid", "id").values_list("at", flat=True).first()
    return Lag(
        sealed=seal.last if seal else 0,
        seals=seal.number if seal else 0,
        sealed_event=head.event_id if seal and head.event_id > 0 else None,
        sealed_at=seal.latest if seal else None,
        waiting=waiting.order_by()[:MOST].count() if oldest else 0,
        seconds=max((clock.now() - oldest).total_seconds(), 0.0) if oldest else 0.0,
        problem=head.problem,
    )
