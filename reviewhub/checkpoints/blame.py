"""Which checkpoint last changed a value: the step, and who wrote it."""

from __future__ import annotations

from reviewhub.checkpoints.load import load_state, refused
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.walk import Sight, back


def blame(*, checkpoint: Checkpoint, path: str) -> Checkpoint | None:
    """The newest checkpoint up to `checkpoint`, across forks, whose value at `path` is not that of the one before.

    Costs the rows on the way, not the states: checked against its hash is only the checkpoint that is named.

    Args:
        path: a JSON pointer into the state. For a place in a list: whatever stands at that place.

    Returns:
        The checkpoint that set the value or took it away, without its content (`step`, `author_name` and `reason` say
        who and why); None when there never was one.

    Raises:
        Invalid: the path is no pointer to a value in the state.
        CorruptCheckpoint: what is stored on the way is damaged.
    """
    try:
        newest = _newest(checkpoint, path)
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error
    if newest is not None:
        load_state(newest)
    return newest


def _newest(checkpoint: Checkpoint, path: str) -> Checkpoint | None:
    after: Sight | None = None
    for sight in back(checkpoint, path):
        if after is not None and after.value != sight.value:
            return after.checkpoint
        after = sight
    return after.checkpoint if after is not None and after.value is not None else None
