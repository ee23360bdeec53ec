"""Blame and find in one walk that ends after so many checkpoints: for a page, which has to come in time."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.checkpoints.load import load_state, refused
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.walk import Rest, Sight, Walk


@dataclass(frozen=True, kw_only=True)
class Story:
    """What is known of a value: who last changed it, and where it came and went.

    `rest` is what was not looked at; None when the walk went to the run's first. `is_older`: the value was there
    already in the oldest checkpoint that was looked at.
    """

    last: Checkpoint | None
    introduced: Checkpoint | None
    lost: Checkpoint | None
    rest: Rest | None
    is_older: bool


def story(
    *, head: Checkpoint, checkpoint: Checkpoint, path: str, value: str | None, most: int | None = None
) -> Story:
    """What `blame` says at `checkpoint` and `find` says at `head`, of the newest `most` checkpoints on the way.

    Args:
        head: the newest checkpoint of the branch of `checkpoint`.
        value: the canonical text to look for; None for none.
        most: None for `walk.MOST`.

    Raises:
        Invalid: the path is no pointer to a value in the state.
        CorruptCheckpoint: what is stored on the way is damaged.
    """
    try:
        found = _walk(head, checkpoint, path, value, most)
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error
    for named in filter(None, (found.last, found.introduced, found.lost)):
        load_state(named)
    return found


def _walk(head: Checkpoint, checkpoint: Checkpoint, path: str, value: str | None, most: int | None) -> Story:
    introduced = lost = without = last = None
    walk = Walk(head, path, most=most)
    newer: Sight | None = None  # The one before in the walk, from the checkpoint that is asked about on.
    seen: Sight | None = None
    for sight in walk:
        seen = sight
        if value is not None and sight.value == value:
            introduced, lost = sight.checkpoint, without
        else:
            without = sight.checkpoint
        if newer is not None and last is None and newer.value != sight.value:
            last = newer.checkpoint
        if newer is not None or sight.checkpoint.pk == checkpoint.pk:
            newer = sight
    if last is None and walk.rest is None and newer is not None and newer.value is not None:
        last = newer.checkpoint
    is_older = walk.rest is not None and seen is not None and value is not None and seen.value == value
    return Story(
        last=last,
        introduced=None if is_older else introduced,
        lost=lost,
        rest=walk.rest,
        is_older=is_older,
    )
