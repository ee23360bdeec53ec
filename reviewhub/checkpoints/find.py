"""Which checkpoint introduced a value, and which one lost it."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.load import load_state, refused
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.walk import Rest, Walk


@dataclass(frozen=True)
class Found:
    """The first checkpoint with the value, and the first one after it without; None where there is none.

    With a `rest` that is what is known so far.
    """

    introduced: Checkpoint | None
    lost: Checkpoint | None
    rest: Rest | None = None


@dataclass(frozen=True, kw_only=True)
class SoFar:
    """Where a call before had to end (`rest.last`), and what it had found."""

    last: Checkpoint
    introduced: Checkpoint | None = None
    lost: Checkpoint | None = None


def find(
    *, checkpoint: Checkpoint, path: str, value: Tree, so_far: SoFar | None = None, most: int | None = None
) -> Found:
    """Looks for a value on the way from the run's first checkpoint to `checkpoint`, across forks.

    Costs the rows on the way, not the states: checked against their hashes are only the checkpoints that are named.

    Args:
        path: a JSON pointer into the state.
        value: it is there where its canonical text is.
        so_far: what the call before knew; None to begin.
        most: checkpoints to look at; None for `walk.MOST`.

    Raises:
        Invalid: the path is no pointer to a value in the state.
        CorruptCheckpoint: what is stored on the way is damaged.
    """
    wanted = canonical.dumps(value)
    walk = Walk(checkpoint, path, after=so_far.last if so_far else None, most=most)
    introduced, lost = (so_far.introduced, so_far.lost) if so_far else (None, None)
    # If the value is there where the call before ended, what lost it was found by that one.
    without = lost
    try:
        # The newest comes first, so what is noted last is what came first.
        for sight in walk:
            if sight.value == wanted:
                introduced, lost = sight.checkpoint, without
            else:
                without = sight.checkpoint
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error
    for named in filter(None, (introduced, lost)):
        load_state(named)
    return Found(introduced, lost, walk.rest)
