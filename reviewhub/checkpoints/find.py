"""Which checkpoint introduced a value, and which one lost it."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.load import load_state, refused
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint
from reviewhub.checkpoints.walk import back


@dataclass(frozen=True)
class Found:
    """The first checkpoint with the value, and the first one after it without; None where there is none."""

    introduced: Checkpoint | None
    lost: Checkpoint | None


def find(*, checkpoint: Checkpoint, path: str, value: Tree) -> Found:
    """Looks for a value on the way from the run's first checkpoint to `checkpoint`, across forks.

    Costs the rows on the way, not the states: checked against their hashes are only the checkpoints that are named.

    Args:
        path: a JSON pointer into the state.
        value: it is there where its canonical text is.

    Raises:
        Invalid: the path is no pointer to a value in the state.
        CorruptCheckpoint: what is stored on the way is damaged.
    """
    wanted = canonical.dumps(value)
    try:
        # The newest comes first, so what is noted last is what came first.
        introduced = lost = after = None
        for sight in back(checkpoint, path):
            if sight.value == wanted:
                introduced, lost = sight.checkpoint, after
                continue
            after = sight.checkpoint
    except BrokenCheckpoint as error:
        raise refused(checkpoint, error) from error
    for named in filter(None, (introduced, lost)):
        load_state(named)
    return Found(introduced, lost)
