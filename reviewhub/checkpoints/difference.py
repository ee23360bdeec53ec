"""What changed from one checkpoint to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from django.conf import settings
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rules import ABSENT, Change, Keys, Pair, compare, middle, paired
from reviewhub.checkpoints.tree import standing_on
from reviewhub.checkpoints.values import Items, Members, Value
from reviewhub.core.errors import Invalid

MOST = 500


@dataclass(frozen=True)
class Difference:
    """The differences between two states, in a readable order; `more` when there are further ones."""

    changes: list[Change]
    more: bool


def difference(old: Checkpoint, new: Checkpoint, *, most: int = MOST) -> Difference:
    """The fields and list items that differ from `old` to `new`, two checkpoints of one run.

    Equal hashes answer without loading a state, and of two states only what differs is parsed.

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
    before, after = load_states([old, new])
    after = standing_on(before, after)
    names = sorted(before.values.keys() | after.values.keys())
    sides = ((name, before.values.get(name), after.values.get(name)) for name in names)
    pairs = chain.from_iterable(_pairs((name,), was, now) for name, was, now in sides if was is not now)
    changes, more = compare(pairs, most=most)
    return Difference(changes, more=more)


def _pairs(keys: Keys, old: Value | None, new: Value | None) -> Iterator[Pair]:
    """What may differ, parsed: of lists the items between those that are equal at both ends."""
    if isinstance(old, Items) and isinstance(new, Items):
        start, cut, put = middle(old.texts, new.texts)
        yield from paired(keys, start, [_tree(text) for text in cut], [_tree(text) for text in put])
    elif isinstance(old, Members) and isinstance(new, Members):
        for name in sorted(old.members.keys() | new.members.keys()):
            was, now = old.members.get(name), new.members.get(name)
            if was is not now:
                yield from _pairs((*keys, name), was, now)
    else:
        yield keys, _tree(old.text) if old else ABSENT, _tree(new.text) if new else ABSENT


def _tree(text: str) -> Tree:
    most = settings.LIMIT_STATE_BYTES
    return canonical.parse(text, max_bytes=most, max_values=most)
