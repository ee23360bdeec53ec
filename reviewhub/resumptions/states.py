"""States of resumptions, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class ResumptionState(TextChoices):
    QUEUED = "queued"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"


OPEN = (ResumptionState.QUEUED, ResumptionState.CLAIMED)
"""It still has to wake somebody, or is doing so."""
RESUMPTION_EDGES: Edges = {
    "queued": frozenset({"claimed", "done", "abandoned"}),
    "claimed": frozenset({"queued", "done", "failed", "abandoned"}),
    "done": frozenset(),
    "failed": frozenset({"queued"}),
    "abandoned": frozenset(),
}
TABLES = ((ResumptionState, RESUMPTION_EDGES),)
