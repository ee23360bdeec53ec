"""Reads a state back, and hands it out only if it is what was saved."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.recall import Tip
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.tree import State
from reviewhub.core.errors import ReviewHubError

log = logging.getLogger(__name__)


class CorruptCheckpoint(ReviewHubError):
    """What is stored of this checkpoint does not match its hash; it is not used."""

    code, status = "corrupt_checkpoint", 500


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
    """
    return load_tip(checkpoint).state


def load_tip(checkpoint: Checkpoint) -> Tip:
    """The state, and how it is kept, for what is saved on top of it. Raises CorruptCheckpoint as `load_state` does."""
    try:
        return recall.tip_of(checkpoint)
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error


def load_states(checkpoints: Sequence[Checkpoint]) -> list[State]:
    """The states of several checkpoints of one run, as cheap as those of neighbours can be.

    Raises:
        CorruptCheckpoint: as `load_state`, for the first that is damaged.
    """
    found: dict[uuid.UUID, State] = {}
    ordered = sorted(checkpoints, key=lambda row: (row.branch_id, row.number))
    reader = recall.states_of(ordered)
    for checkpoint in ordered:
        try:
            found[checkpoint.pk] = next(reader)
        except BrokenCheckpoint as error:
            raise refused(checkpoint, error) from error
    return [found[checkpoint.pk] for checkpoint in checkpoints]


def refused(checkpoint: Checkpoint, error: BrokenCheckpoint) -> CorruptCheckpoint:
    """What the caller is told of a checkpoint that is damaged; the log is told more."""
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
