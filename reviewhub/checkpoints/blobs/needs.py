"""What work that goes on may have to read: blobs that stay in the database."""

from __future__ import annotations

import uuid
from contextlib import suppress

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.recall import rows_of, skeletons
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.runs.models import Branch
from reviewhub.runs.states import OPEN_BRANCH, BranchState

# One that is set aside may be let go on.
GOING_ON = (*OPEN_BRANCH, BranchState.QUARANTINED)

Known = dict[uuid.UUID, set[bytes]]
"""Head → what it needs, for who asks twice."""


def needed(run_id: uuid.UUID, known: Known) -> set[bytes]:
    """The hashes of all blobs that saving, pausing and going on can need in a run, whatever its stores do.

    These are the blobs of the head of every branch that is not over, and of the checkpoints shortly before it (those
    from the last manifest but one on), on which a message that is late or repeated may stand.

    Args:
        known: filled by this function; checkpoints never change.

    Raises:
        BrokenCheckpoint: the rows of a head are damaged.
    """
    heads = Branch.objects.filter(run_id=run_id, state__in=GOING_ON, head__isnull=False)
    found: set[bytes] = set()
    for head in heads.values_list("head", flat=True):
        if head is not None and head not in known:
            known[head] = _of_head(head)
        found |= known[head] if head is not None else set()
    return found


def _of_head(head: uuid.UUID) -> set[bytes]:
    row = Checkpoint.objects.defer("content").get(pk=head)
    found = _named_by(row)
    first = Checkpoint.objects.defer("content").get(branch_id=row.branch_id, number=row.base)
    # It may have been removed, or be damaged: then nothing stands on it any more.
    before = Checkpoint.objects.defer("content").filter(children=first).first()
    with suppress(BrokenCheckpoint):
        found |= _named_by(before) if before else set()
    return found


def _named_by(row: Checkpoint) -> set[bytes]:
    """The blobs of all checkpoints from the manifest to this one."""
    steps = skeletons(rows_of(row)[0])
    return {bytes.fromhex(hash_) for step in steps for hash_ in step.blobs()}
