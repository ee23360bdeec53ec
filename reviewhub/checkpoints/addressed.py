"""The checkpoint that an address names: it is there, it was removed, or there never was one. One place says which.

Who may know of a run is the caller's question, and comes first: a stranger is told of nothing, not even of a tombstone.
"""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from reviewhub.checkpoints.load import removed
from reviewhub.checkpoints.models import Checkpoint, Tombstone
from reviewhub.core.errors import NotFound
from reviewhub.runs.models import Run


def addressed(checkpoint_id: uuid.UUID, *, runs: QuerySet[Run]) -> Checkpoint:
    """A checkpoint of one of `runs`, without its content, with its branch, its run and the name of its schema.

    Raises:
        CheckpointRemoved: there was one; with what its tombstone says.
        NotFound: these runs never had one of this id.
    """
    rows = Checkpoint.objects.filter(pk=checkpoint_id, run__in=runs)
    rows = rows.select_related("branch", "run__agent__team", "state_schema")
    # What a state is by is named; the schema itself is large.
    found = rows.defer("content", "state_schema__schema").first()
    if found is None:
        raise removed(checkpoint_id, runs=runs) or NotFound("There is no such checkpoint.")
    return found


def run_of(checkpoint_id: uuid.UUID, *, runs: QuerySet[Run]) -> Run:
    """The run that a checkpoint belongs to, or belonged to: to ask first who may know of it. Raises NotFound."""
    here = Checkpoint.objects.filter(pk=checkpoint_id).values_list("run_id", flat=True)
    gone = Tombstone.objects.filter(pk=checkpoint_id).values_list("branch__run_id", flat=True)
    # One after the other: nearly every one that is asked for is there.
    run_id = here.first() or gone.first()
    found = None if run_id is None else runs.select_related("agent__team").filter(pk=run_id).first()
    if found is None:
        raise NotFound("There is no such checkpoint.")
    return found
