"""Which checkpoint last changed a value: the step, and who wrote it."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.checkpoints.load import load_state, refused
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.walk import Rest, Sight, Walk


@dataclass(frozen=True)
class Blamed:
    """The checkpoint that set the value or took it away, without its content; None when there never was one.

    With a `rest` nobody changed it in what was looked at, and who did is still to be found.
    """

    checkpoint: Checkpoint | None
    rest: Rest | None = None


def blame(
    *, checkpoint: Checkpoint, path: str, after: Checkpoint | None = None, most: int | None = None
) -> Blamed:
    """The newest checkpoint up to `checkpoint`, across forks, whose value at `path` is not that of the one before.

    Costs the rows on the way, not the states: checked against its hash is only the checkpoint that is named.

    Args:
        path: a JSON pointer into the state. For a place in a list: whatever stands at that place.
        after: where the call before had to end (`rest.last`); None to begin.
        most: checkpoints to look at; None for `walk.MOST`.

    Raises:
        Invalid: the path is no pointer to a value in the state.
        CorruptCheckpoint: what is stored on the way is damaged.
    """
    walk = Walk(checkpoint, path, after=after, most=most)
    try:
        newest = _newest(walk)
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error
    if newest is not None:
        load_state(newest)
    return Blamed(newest, walk.rest)


def _newest(walk: Walk) -> Checkpoint | None:
    newer: Sight | None = None
    for sight in walk:
        if newer is not None and newer.value != sight.value:
            return newer.checkpoint
        newer = sight
    is_first = walk.rest is None and newer is not None and newer.value is not None
    return newer.checkpoint if is_first and newer is not None else None
