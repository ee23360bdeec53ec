"""What changed from one checkpoint to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.load import load_state
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rules import Change, compare
from reviewhub.core.errors import Invalid

MOST = 500


@dataclass(frozen=True)
class Difference:
    """The differences between two states, in a readable order; `more` when there are further ones."""

    changes: list[Change]
    more: bool


def difference(old: Checkpoint, new: Checkpoint, *, most: int = MOST) -> Difference:
    """The fields and list items that differ from `old` to `new`, two checkpoints of one run.

    Equal hashes answer without loading a state.

    Args:
        most: differences to list.

    Raises:
        Invalid: they are of different runs.
        CorruptCheckpoint: one of them does not match its hash.
    """
    if old.run_id != new.run_id:
        raise Invalid("Two checkpoints of different runs are not compared.")
    if old.state_hash == new.state_hash:
        return Difference([], more=False)
    before, after = load_state(old).fields, load_state(new).fields
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    changes, more = compare(_parsed(before, names), _parsed(after, names), most=most)
    return Difference(changes, more=more)


def _parsed(fields: Mapping[str, str], names: list[str]) -> Tree:
    """The fields that differ; the others need no parsing."""
    most = settings.LIMIT_STATE_BYTES
    return {
        name: canonical.parse(fields[name], max_bytes=most, max_values=most)
        for name in names
        if name in fields
    }
