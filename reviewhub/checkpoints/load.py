"""Reads a state back, and hands it out only if it is what was saved."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

from django.db.models import QuerySet

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.models import Checkpoint, Tombstone
from reviewhub.checkpoints.recall import Tip
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.tree import State
from reviewhub.core.display import moments
from reviewhub.core.errors import ReviewHubError
from reviewhub.runs.models import Run

log = logging.getLogger(__name__)


class CorruptCheckpoint(ReviewHubError):
    """What is stored of this checkpoint does not match its hash; it is not used."""

    code, status = "corrupt_checkpoint", 500


class CheckpointRemoved(ReviewHubError):
    """This checkpoint was removed; its hash stays."""

    code, status = "checkpoint_removed", 410


def load(checkpoint: Checkpoint) -> str:
    """The canonical text of a checkpoint's state, exactly as it was saved.

    Raises:
        CorruptCheckpoint: see `load_state`.
    """
    return load_state(checkpoint).text


def load_state(checkpoint: Checkpoint) -> State:
    """The fields of a checkpoint's state.

    Raises:
        CorruptCheckpoint: the stored bytes cannot be unpacked, or are not those that were saved; nothing of them is
            handed out. `extra` names the checkpoint.
        CheckpointRemoved: it was removed since its row was read.
    """
    return load_tip(checkpoint).state


def load_tip(checkpoint: Checkpoint) -> Tip:
    """The state, and how it is kept, for what is saved on top of it. Raises CorruptCheckpoint as `load_state` does."""
    try:
        return recall.tip_of(checkpoint)
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error


def load_states(checkpoints: Sequence[Checkpoint]) -> list[State]:
    """The states of several checkpoints of one run, as cheap as those of neighbours can be; one may be named twice.

    Raises:
        CorruptCheckpoint: as `load_state`, for the first that is damaged.
    """
    found: dict[uuid.UUID, State] = {}
    once = {checkpoint.pk: checkpoint for checkpoint in checkpoints}
    ordered = sorted(once.values(), key=lambda row: (row.branch_id, row.number))
    reader = recall.states_of(ordered)
    for checkpoint in ordered:
        try:
            found[checkpoint.pk] = next(reader)
        except BrokenCheckpoint as error:
            raise refused(checkpoint, error) from error
    return [found[checkpoint.pk] for checkpoint in checkpoints]


def removed(checkpoint_id: uuid.UUID, *, runs: QuerySet[Run]) -> CheckpointRemoved | None:
    """What the caller is told of a checkpoint of one of these runs that was removed; None for one that was not.

    `extra` has what is left of it: whose it was, its number and hash, when it was removed, by what and why.
    """
    rows = Tombstone.objects.select_related("removal", "branch")
    stone = rows.filter(pk=checkpoint_id, branch__run__in=runs).first()
    if stone is None:
        return None
    removal = stone.removal
    return CheckpointRemoved(
        f"Checkpoint {stone.number} of {stone.branch.name} was removed by {removal.kind} on"
        f" {moments.said(removal.created_at)}; its place and its hash stay.",
        run=str(stone.branch.run_id),
        branch=stone.branch.name,
        number=stone.number,
        hash=stone.state_hash,
        kind=removal.kind,
        removed_at=removal.created_at.isoformat(),
        because=removal.reason,
    )


def removed_of_run(checkpoint_id: uuid.UUID, *, run_id: uuid.UUID) -> CheckpointRemoved | None:
    """The same for one run."""
    return removed(checkpoint_id, runs=Run.objects.filter(pk=run_id))


def refused(checkpoint: Checkpoint, error: BrokenCheckpoint) -> CorruptCheckpoint | CheckpointRemoved:
    """What the caller is told of a checkpoint that is damaged, or gone since its row was read; the log is told more."""
    if (gone := removed_of_run(checkpoint.pk, run_id=checkpoint.run_id)) is not None:
        return gone
    log.error("checkpoint %s is corrupt: %s", checkpoint.id, error)
    return CorruptCheckpoint(checkpoint=str(checkpoint.id))


def known_tip(checkpoint_id: uuid.UUID, *, run_id: uuid.UUID) -> Tip | None:
    """The same without a look at the database, if this process has it in mind."""
    return recall.known(checkpoint_id, run_id=run_id)


def field_digests(checkpoint: Checkpoint) -> dict[str, str]:
    """The digest of each field of a state, `sha256:<hex>`; the hash of the state is made of these.

    Raises:
        CorruptCheckpoint: as `load_state`.
    """
    return {name: f"sha256:{digest}" for name, digest in load_state(checkpoint).digests.items()}
