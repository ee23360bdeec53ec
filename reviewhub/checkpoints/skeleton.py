"""A state as its rows tell it, with blobs still named by their hashes. Pure.

Rows are applied one after the other; what a later one replaces is never fetched. `resolve` puts the blobs in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from reviewhub.checkpoints.chunks import Chunk
from reviewhub.checkpoints.rows import (
    BrokenCheckpoint,
    Op,
    Open,
    Part,
    Put,
    Refer,
    Remove,
    Splice,
    Stored,
)
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import Items, Members, Text, Value


@dataclass(frozen=True)
class Ref:
    """A value that is a blob."""

    hash: str


@dataclass
class Bones:
    """A list: runs of items in blobs, and loose ones between them. Changed by `splice` only."""

    parts: list[Part] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """How many items each part has."""
    length: int = 0

    def splice(self, at: int, cut: int, put: Sequence[Part]) -> None:
        """Replaces items [at, at + cut). Raises BrokenCheckpoint when there are not as many."""
        if at + cut > self.length:
            raise BrokenCheckpoint
        # Only the parts that are met, and the ones beside them, are taken apart: the walk over all of them for each
        # splice took a second for a list that had changed in fifteen places in each of sixty rows.
        if at == self.length:
            low, high = max(len(self.parts) - 1, 0), len(self.parts)
            kept, rest = self.parts[low:], list(put)
        else:
            ends = list(accumulate(self.counts))
            low, high = max(bisect_right(ends, at) - 1, 0), bisect_right(ends, at + cut) + 1
            met, begin = self.parts[low:high], ends[low - 1] if low else 0
            kept = list(_between(met, 0, at - begin))
            rest = [*put, *_between(met, at + cut - begin, self.length)]
        for part in rest:
            _join(kept, part)
        self.parts[low:high] = kept
        self.counts[low:high] = map(count, kept)
        self.length += sum(map(count, put)) - cut

    def between(self, start: int, stop: int) -> Iterator[Part]:
        """The parts of items [start, stop), cut to fit."""
        return _between(self.parts, start, stop)

    def copy(self) -> Bones:
        """One that can be spliced on its own."""
        return Bones(list(self.parts), list(self.counts), self.length)


Leaf: TypeAlias = str | Ref | Bones
Node: TypeAlias = Leaf | dict[str, Leaf]


class Blobs:
    """Unpacked blobs of one run by their hashes. What several states name is made once, and known to be the same."""

    def __init__(self, found: Mapping[str, bytes] | None = None) -> None:
        self._raw = dict(found or {})
        self._texts: dict[str, Text] = {}
        self._chunks: dict[tuple[str, int], Chunk] = {}

    def add(self, found: Mapping[str, bytes]) -> None:
        """Takes these in."""
        self._raw.update(found)

    def missing(self, hashes: Iterable[str]) -> set[str]:
        """Which of these are not here."""
        return {hash_ for hash_ in hashes if hash_ not in self._raw}

    def text(self, hash_: str) -> Text:
        """The value that is this blob. Raises BrokenCheckpoint when it is missing."""
        found = self._texts.get(hash_)
        if found is None:
            found = self._texts[hash_] = Text(self._blob(hash_))
        return found

    def chunk(self, hash_: str, *, count: int) -> Chunk:
        """The items that are this blob. Raises BrokenCheckpoint when it is missing or has not `count` lines."""
        found = self._chunks.get((hash_, count))
        if found is None:
            found = self._chunks[hash_, count] = Chunk.stored(self._blob(hash_), count=count)
        return found

    def _blob(self, hash_: str) -> bytes:
        try:
            return self._raw[hash_]
        except KeyError as error:
            raise BrokenCheckpoint(f"The blob {hash_} is missing.") from error


class Skeleton:
    """Field → its text, the blob it is, its list of parts, or its members."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def copy(self) -> Skeleton:
        """One that rows can be applied to without a change here."""
        made = Skeleton()
        made.nodes = {name: _copied(node) for name, node in self.nodes.items()}
        return made

    def apply(self, ops: Sequence[Op]) -> None:
        """Applies a row. Raises BrokenCheckpoint when an operation does not fit what is there."""
        for op in ops:
            try:
                self._apply(op)
            except KeyError as error:
                raise BrokenCheckpoint from error

    def blobs(self) -> set[str]:
        """The hashes of the blobs that it takes to resolve all."""
        return {hash_ for node in self.nodes.values() for hash_ in blobs_of(node)}

    def resolve(self, blobs: Blobs) -> State:
        """The state, with these blobs. Raises BrokenCheckpoint when one is missing or has other lines."""
        return State({name: resolve(node, blobs) for name, node in self.nodes.items()})

    def _apply(self, op: Op) -> None:
        name = op.path[-1]
        place: dict[str, Node] | dict[str, Leaf] = self.nodes
        if len(op.path) == 2:
            members = self.nodes[op.path[0]]
            if not isinstance(members, dict):
                raise BrokenCheckpoint
            place = members
        match op:
            case Put():
                place[name] = op.text
            case Refer():
                place[name] = Ref(op.hash)
            case Splice():
                bones = place.setdefault(name, Bones())
                if not isinstance(bones, Bones):
                    raise BrokenCheckpoint
                bones.splice(op.at, op.cut, op.parts)
            case Open():
                if place is not self.nodes:
                    raise BrokenCheckpoint
                self.nodes[name] = {}
            case Remove():
                del place[name]


def resolve(node: Node, blobs: Blobs) -> Value:
    """The value of one node. Raises BrokenCheckpoint as `Skeleton.resolve` does."""
    if isinstance(node, dict):
        return Members({name: _leaf(leaf, blobs) for name, leaf in node.items()})
    return _leaf(node, blobs)


def blobs_of(node: Node) -> Iterator[str]:
    """The hashes of the blobs of one node."""
    for leaf in node.values() if isinstance(node, dict) else (node,):
        if isinstance(leaf, Ref):
            yield leaf.hash
        elif isinstance(leaf, Bones):
            yield from (part.hash for part in leaf.parts if isinstance(part, Stored))


def chunk_of(part: Part, blobs: Blobs) -> Chunk:
    """The items of one part. Raises BrokenCheckpoint when its blob is missing or has another number of lines."""
    if not isinstance(part, Stored):
        return Chunk(part, count=len(part))
    whole = blobs.chunk(part.hash, count=part.count)
    return whole if part.is_whole else Chunk(whole.lines[part.start : part.stop], count=count(part))


def count(part: Part) -> int:
    """How many items a part has."""
    return part.stop - part.start if isinstance(part, Stored) else len(part)


def _leaf(leaf: Leaf, blobs: Blobs) -> Text | Items:
    if isinstance(leaf, str):
        return Text(leaf)
    if isinstance(leaf, Ref):
        return blobs.text(leaf.hash)
    return Items([chunk_of(part, blobs) for part in leaf.parts])


def _join(parts: list[Part], part: Part) -> None:
    """Adds a part; loose items go to the loose ones before them, empty ones nowhere."""
    if not count(part):
        return
    if isinstance(part, list) and parts and isinstance(parts[-1], list):
        parts[-1] = [*parts[-1], *part]
    else:
        parts.append(part)


def _between(parts: Iterable[Part], start: int, stop: int) -> Iterator[Part]:
    begin = 0
    for part in parts:
        end = begin + count(part)
        if begin < stop and end > start:
            yield _cut(part, max(start - begin, 0), min(stop, end) - begin)
        begin = end


def _cut(part: Part, start: int, stop: int) -> Part:
    if stop - start == count(part):
        return part
    if isinstance(part, Stored):
        return Stored(part.hash, part.count, part.start + start, part.start + stop)
    return part[start:stop]


def _copied(node: Node) -> Node:
    if isinstance(node, dict):
        return {name: leaf.copy() if isinstance(leaf, Bones) else leaf for name, leaf in node.items()}
    return node.copy() if isinstance(node, Bones) else node
