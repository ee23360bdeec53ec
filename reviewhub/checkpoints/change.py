"""What a checkpoint writes: the operations that lead from the state before to the new one, or the whole. Pure.

Most checkpoints write a delta: what changed. Every 64 rows, or when the deltas have grown to 256 KB, one writes a
manifest, from which reading begins: small values, and the hashes of the blobs with the rest. The items that lists got
since the last manifest become blobs then, and stay the same blobs in every later manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby

from reviewhub.checkpoints.chunks import size_of
from reviewhub.checkpoints.rows import (
    INLINE,
    Op,
    Open,
    Part,
    Path,
    Put,
    Refer,
    Remove,
    Splice,
    Stored,
    write_row,
)
from reviewhub.checkpoints.skeleton import Bones, Leaf, Ref, Skeleton, count
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import Items, Members, Text, Value, common

MANIFEST_ROWS = 64
MANIFEST_BYTES = 262_144
CHUNK = 131_072
"""About the most bytes of items in one blob."""
APART = 16_384
"""Items of one save that have more bytes than this are a blob at once and not written again at the next manifest."""
SPLICES = 16
"""A list that changed in more places than this is written from the first of them to the last: each splice costs a walk
over the list's parts, so every second of many thousand items would take minutes, here and whenever it is read."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """One checkpoint as it is stored."""

    text: str
    blobs: dict[str, bytes]
    """The blobs that this row is the first to name, by hash. Some may be there already."""
    skeleton: Skeleton
    is_manifest: bool


@dataclass
class _Writer:
    ops: list[Op] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def blob(self, raw: bytes) -> str:
        hash_ = sha256(raw).hexdigest()
        self.blobs[hash_] = raw
        return hash_

    def put(self, path: Path, value: Text) -> None:
        if value.size <= INLINE:
            self.ops.append(Put(path, value.text))
        else:
            self.blobs[value.digest] = value.raw  # The digest of a text is its hash as a blob.
            self.ops.append(Refer(path, value.digest))


def write(state: State, *, before: State, skeleton: Skeleton, rows: int, weight: int) -> Written:
    """The row that makes `state` of the state `before`.

    Args:
        skeleton: that of the state before; it is left as it is.
        rows: those since the last manifest, itself counted; 0 when there is none to stand on.
        weight: bytes of their texts.
    """
    writer = _Writer()
    _fields(writer, before, state)
    after = skeleton.copy()
    after.apply(writer.ops)
    if rows and rows < MANIFEST_ROWS:
        text = write_row(writer.ops)
        if weight + size_of(text) <= MANIFEST_BYTES:
            return Written(text=text, blobs=writer.blobs, skeleton=after, is_manifest=False)
    return manifest(state, skeleton=after, blobs=writer.blobs)


def manifest(state: State, *, skeleton: Skeleton, blobs: dict[str, bytes]) -> Written:
    """The row that stands alone and makes `state`.

    Args:
        skeleton: of this state; what is a blob in it stays one.
        blobs: those in it that were not stored yet.
    """
    writer = _Writer(blobs=dict(blobs))
    for name, value in state.values.items():
        node = skeleton.nodes[name]
        if isinstance(value, Members):
            assert isinstance(node, dict)
            writer.ops.append(Open((name,)))
            for member, leaf in value.members.items():
                _whole(writer, (name, member), leaf, node[member])
        else:
            assert not isinstance(node, dict)
            _whole(writer, (name,), value, node)
    after = Skeleton()
    after.apply(writer.ops)
    return Written(text=write_row(writer.ops), blobs=writer.blobs, skeleton=after, is_manifest=True)


def _fields(writer: _Writer, before: State, after: State) -> None:
    writer.ops += [Remove((name,)) for name in before.values if name not in after.values]
    for name, value in after.values.items():
        old = before.values.get(name)
        if isinstance(value, Members):
            _members(writer, name, old, value)
        else:
            _leaf(writer, (name,), old, value)


def _members(writer: _Writer, name: str, old: Value | None, new: Members) -> None:
    if old is new:
        return
    known = old.members if isinstance(old, Members) else None
    if known is None:
        writer.ops.append(Open((name,)))
        known = {}
    writer.ops += [Remove((name, member)) for member in known if member not in new.members]
    for member, value in new.members.items():
        _leaf(writer, (name, member), known.get(member), value)


def _leaf(writer: _Writer, path: Path, old: Value | None, new: Text | Items) -> None:
    if old is new:
        return
    if isinstance(new, Text):
        if not (isinstance(old, Text) and old.text == new.text):
            writer.put(path, new)
    elif isinstance(old, Items):
        for at, cut, put in reversed(list(_splices(old, new))):
            writer.ops.append(Splice(path, at, cut, _parts(writer, put)))
    else:
        if old is not None:
            writer.ops.append(Remove(path))
        writer.ops.append(Splice(path, 0, 0, _parts(writer, new.texts)))


def _splices(old: Items, new: Items) -> Iterator[tuple[int, int, Sequence[str]]]:
    """(at, cut, put) that make `new` of `old`, in order of `at`, each told in places of `old`.

    What is equal at both ends is left out. If as many items remain on both sides, each run of those that differ is a
    splice of its own, unless there are many.
    """
    added = new.added_to(old)
    if added is not None:
        yield old.length, 0, added
        return
    start = common(old, new)
    before, after = old.between(start, old.length), new.between(start, new.length)
    room = min(len(before), len(after))
    end = next((at for at in range(room) if before[-1 - at] != after[-1 - at]), room)
    cut, put = before[: len(before) - end], after[: len(after) - end]
    if len(cut) != len(put):
        yield start, len(cut), put
        return
    runs: list[tuple[int, int]] = []
    at = 0
    for same, run in groupby(map(str.__eq__, cut, put)):
        length = len(list(run))
        if not same:
            runs.append((at, at + length))
        at += length
    if len(runs) > SPLICES:
        runs = [(runs[0][0], runs[-1][1])]
    for begin, stop in runs:
        yield start + begin, stop - begin, put[begin:stop]


def _whole(writer: _Writer, path: Path, value: Value, node: Leaf) -> None:
    """Writes a value that is not built upon: what is in blobs stays there, loose items move into some."""
    if isinstance(node, Bones):
        assert isinstance(value, Items)
        writer.ops.append(Splice(path, 0, 0, list(_gathered(writer, value, node))))
    elif isinstance(node, Ref):
        writer.ops.append(Refer(path, node.hash))
    else:
        writer.ops.append(Put(path, node))


def _gathered(writer: _Writer, value: Items, bones: Bones) -> Iterator[Part]:
    at = 0
    for is_kept, run in groupby(bones.parts, key=lambda part: isinstance(part, Stored) and part.is_whole):
        parts = list(run)
        length = sum(map(count, parts))
        yield from parts if is_kept else _chunks(writer, value.between(at, at + length))
        at += length


def _parts(writer: _Writer, texts: Sequence[str]) -> list[Part]:
    """Items of a delta: in the row, unless they are much."""
    if sum(map(size_of, texts)) <= APART:
        return [list(texts)] if texts else []
    return list(_chunks(writer, texts))


def _chunks(writer: _Writer, texts: Sequence[str]) -> Iterator[Part]:
    """Items as blobs of about equal size; so few that they fit into the row stay in it."""
    sizes = [size_of(text) for text in texts]
    total = sum(sizes)
    if total <= INLINE:
        yield list(texts)
        return
    share = total / -(-total // CHUNK)
    begin, filled = 0, 0
    for place, size in enumerate(sizes):
        filled += size
        if filled >= share or place == len(sizes) - 1:
            held = texts[begin : place + 1]
            yield Stored(writer.blob("\n".join(held).encode()), len(held), 0, len(held))
            begin, filled = place + 1, 0
