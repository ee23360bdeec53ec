"""How far a step of a plan may come."""

from __future__ import annotations

from django.db.models import TextChoices

from reviewhub.core.transitions import Edges


class StepStatus(TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


# What is done or skipped stays so within its version; that it was wrong is a reason for a new one.
STEP_EDGES: Edges = {
    "pending": frozenset({"running", "done", "failed", "skipped"}),
    "running": frozenset({"pending", "done", "failed", "skipped"}),
    "failed": frozenset({"pending", "running", "done", "skipped"}),
    "done": frozenset(),
    "skipped": frozenset(),
}

TABLES = ((StepStatus, STEP_EDGES),)
