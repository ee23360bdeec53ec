"""What changed from one checkpoint to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from reviewhub_agents import canonical

from reviewhub.checkpoints.chunks import size_of
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rules import ABSENT, Change, Keys, Pair, Side, Unread, compare, middle
from reviewhub.checkpoints.tree import State, standing_on
from reviewhub.checkpoints.values import Items, Members, Value
from reviewhub.core.errors import Invalid

MOST = 500


@dataclass(frozen=True)
class Difference:
    """The differences between two states, in a readable order; `more` when there are further ones."""

    changes: list[Change]
    more: bool


def difference(
    old: Checkpoint, new: Checkpoint, *, most: int = MOST, most_bytes: int | None = None
) -> Difference:
    """The fields and list items that differ from `old` to `new`, two checkpoints of one run.

    Equal hashes answer without loading a state, and of two states only what differs is parsed.

    Args:
        most: differences to list.
        most_bytes: to parse; a value for which nothing of them is left is one difference as a whole. None for all.

    Raises:
        Invalid: they are of different runs.
        CorruptCheckpoint: one of them does not match its hash.
    """
    if old.run_id != new.run_id:
        raise Invalid.at("/path/other", "Two checkpoints of different runs are not compared.")
    if old.state_hash == new.state_hash:
        return Difference([], more=False)
    before, after = load_states([old, new])
    return between(before, after, most=most, most_bytes=most_bytes)


def between(old: State, new: State, *, most: int = MOST, most_bytes: int | None = None) -> Difference:
    """The same of two states, stored or not."""
    changes, more = compare(_Comparing(most_bytes).pairs(old, standing_on(old, new)), most=most)
    return Difference(changes, more=more)


class _Comparing:
    """Parses what differs, as long as it may."""

    def __init__(self, most_bytes: int | None) -> None:
        self._left = most_bytes

    def pairs(self, old: State, new: State) -> Iterator[Pair]:
        """The fields that may differ; of lists the items between those that are equal at both ends."""
        for name in sorted(old.values.keys() | new.values.keys()):
            yield from self._inside((name,), old.values.get(name), new.values.get(name))

    def _inside(self, keys: Keys, old: Value | None, new: Value | None) -> Iterator[Pair]:
        if old is new:
            return
        if isinstance(old, Items) and isinstance(new, Items):
            start, cut, put = middle(old.texts, new.texts)
            for at, (was, now) in enumerate(zip_longest(cut, put), start):
                if was != now:
                    yield (*keys, at), self._side(was), self._side(now)
        elif isinstance(old, Members) and isinstance(new, Members):
            for name in sorted(old.members.keys() | new.members.keys()):
                yield from self._inside((*keys, name), old.members.get(name), new.members.get(name))
        else:
            yield keys, self._side(old.text if old else None), self._side(new.text if new else None)

    def _side(self, text: str | None) -> Side:
        if text is None:
            return ABSENT
        if self._left is not None:
            self._left -= size_of(text)
            if self._left < 0:
                return Unread(text)
        return canonical.reread(text)
