"""Reads a state back, and hands it out only if it is what was saved."""

from __future__ import annotations

import logging

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import BrokenCheckpoint, State, decode_body
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
    try:
        return decode_body(checkpoint.body, state_hash=checkpoint.state_hash, max_bytes=checkpoint.raw_length)
    except BrokenCheckpoint as error:
        log.error("checkpoint %s is corrupt: %s", checkpoint.id, error)
        raise CorruptCheckpoint(checkpoint=str(checkpoint.id)) from error
