"""States of runs and branches, and where each may go."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class RunState(TextChoices):
    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"


class BranchState(TextChoices):
    RUNNING = "running"
    PAUSED = "paused"
    RESUMING = "resuming"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"


OPEN_BRANCH = (BranchState.RUNNING, BranchState.PAUSED, BranchState.RESUMING)
_ENDS = frozenset({"succeeded", "failed", "cancelled", "superseded", "quarantined"})

# A settled pause wakes its branch (paused → resuming → running). An unknown outcome may pause an open branch again,
# and one that was found on an ended branch leaves the branch as it is.
BRANCH_EDGES: Edges = {
    "running": frozenset({"paused"}) | _ENDS,
    "paused": frozenset({"resuming", "running", "cancelled", "failed", "superseded", "quarantined"}),
    "resuming": frozenset({"running", "paused"}) | _ENDS,
    "succeeded": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
    "superseded": frozenset(),
    "quarantined": frozenset({"running", "cancelled"}),
}
# A run's state is derived from its branches (`runs/derive.py`), so a fork may open an ended run again.
RUN_EDGES: Edges = {state: frozenset(RunState.values) - {state} for state in RunState.values}

TABLES = ((BranchState, BRANCH_EDGES), (RunState, RUN_EDGES))
