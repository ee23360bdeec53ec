"""What goes with the last state of a run: its plans, and what its steps recorded. Who asks for it is told so.

Nothing stays of these that says which there were. So of a run without any state left, all of them were removed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from reviewhub.checkpoints.models import Checkpoint, Removal
from reviewhub.core.display import moments
from reviewhub.core.errors import NotFound, ReviewHubError


class StatesRemoved(ReviewHubError):
    """This was removed with the states of its run."""

    code, status = "states_removed", 410


@contextmanager
def or_removed(run_id: uuid.UUID) -> Iterator[None]:
    """Around what looks for something that goes with a run's states.

    Raises:
        StatesRemoved: in the place of NotFound, when the states of the run were removed; `extra` says by what and why.
    """
    try:
        yield
    except NotFound as error:
        removal = None
        if not Checkpoint.objects.filter(run_id=run_id).exists():
            removal = Removal.objects.filter(run_id=run_id).order_by("-created_at").first()
        if removal is None:
            raise
        raise StatesRemoved(
            f"The run's plans and records were removed with its states by {removal.kind} on"
            f" {moments.said(removal.created_at)}.",
            run=str(run_id),
            kind=removal.kind,
            removed_at=removal.created_at.isoformat(),
            because=removal.reason,
        ) from error
