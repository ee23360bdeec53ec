"""Reads a checkpoint's state from its rows and blobs, and remembers what it read: the next save stands on it.

What is remembered was committed, never changes and was checked against its hash, so it needs no second look. It is a
memory of this process only and bounded; forgetting it costs one read.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from reviewhub.checkpoints.blobs.fetch import packed
from reviewhub.checkpoints.chunks import size_of
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rows import BrokenCheckpoint, read_row, slide, unpack, unpack_text
from reviewhub.checkpoints.skeleton import Blobs, Skeleton
from reviewhub.checkpoints.statements import read_rows
from reviewhub.checkpoints.tree import State, standing_on
from reviewhub.checkpoints.values import Items, Members

MEMORY_BYTES = 64_000_000
_A_VALUE, _AN_ITEM = 700, 150
"""Bytes of memory for a field or a member, and for an item of a list, beside its text (measured)."""
_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class Tip:
    """A checkpoint with all that it takes to write the next one on top of it."""

    id: uuid.UUID
    run_id: uuid.UUID
    number: int
    base: int
    weight: int
    """Bytes of the rows from the manifest on, the manifest left out."""
    window: bytes
    """What the next row is compressed with."""
    state: State
    skeleton: Skeleton


class _Memory:
    """The tips used last, of at most MEMORY_BYTES together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tips: OrderedDict[uuid.UUID, tuple[Tip, int]] = OrderedDict()
        self._bytes = 0

    def get(self, checkpoint_id: uuid.UUID) -> Tip | None:
        with self._lock:
            found = self._tips.get(checkpoint_id)
            if found is None:
                return None
            self._tips.move_to_end(checkpoint_id)
            return found[0]

    def put(self, tip: Tip) -> None:
        taken = cost(tip)
        with self._lock:
            self._drop(tip.id)
            self._tips[tip.id] = tip, taken
            self._bytes += taken
            while self._bytes > MEMORY_BYTES:
                self._drop(next(iter(self._tips)))

    def drop(self, checkpoint_id: uuid.UUID | None) -> None:
        with self._lock:
            self._drop(checkpoint_id)

    def clear(self) -> None:
        with self._lock:
            self._tips.clear()
            self._bytes = 0

    def _drop(self, checkpoint_id: uuid.UUID | None) -> None:
        found = self._tips.pop(checkpoint_id, None) if checkpoint_id else None
        if found is not None:
            self._bytes -= found[1]


_memory = _Memory()
# For who changes what is stored: a restore of a backup, a test.
forget_all = _memory.clear


def tip_of(checkpoint: Checkpoint) -> Tip:
    """The state of a checkpoint and how it is kept; its own `content` is not used, so it may be deferred.

    Raises:
        BrokenCheckpoint: what is stored cannot be read or is not what was saved.
    """
    tip = _memory.get(checkpoint.pk)
    if tip is None or tip.state.state_hash != checkpoint.state_hash:
        tip = _read(checkpoint)
        _memory.put(tip)
    return tip


def known(checkpoint_id: uuid.UUID, *, run_id: uuid.UUID) -> Tip | None:
    """A checkpoint of this run, if it is remembered."""
    tip = _memory.get(checkpoint_id)
    return tip if tip is not None and tip.run_id == run_id else None


def keep(tip: Tip, *, instead_of: uuid.UUID | None) -> None:
    """Remembers a checkpoint that was committed, in the place of the one that it follows."""
    _memory.drop(instead_of)
    _memory.put(tip)


def forget(checkpoint_ids: Iterable[uuid.UUID]) -> None:
    """Forgets checkpoints that were removed. Other processes may remember them, and never get to look: who asks for a
    checkpoint reads its row first, or stands on it as a head, which is not removed.
    """
    for checkpoint_id in checkpoint_ids:
        _memory.drop(checkpoint_id)


def rows_of(checkpoint: Checkpoint) -> tuple[list[str], bytes]:
    """The texts of the rows that make a checkpoint, its manifest first, and the window of the row after it.

    Raises:
        BrokenCheckpoint: one is missing, or damaged.
    """
    texts: list[str] = []
    window = b""
    for content in read_rows(checkpoint.branch_id, first=checkpoint.base, last=checkpoint.number):
        texts.append(unpack_text(content, window=window))
        window = slide(window, texts[-1])
    if len(texts) != checkpoint.number - checkpoint.base + 1:
        raise BrokenCheckpoint("Rows of the stored checkpoint are missing.")
    return texts, window


def blobs_in(run_id: uuid.UUID, hashes: Collection[str]) -> dict[str, bytes]:
    """The unpacked blobs of a run, by hash; missing ones are left out. Raises BrokenCheckpoint for what is damaged."""
    found: dict[str, bytes] = {}
    rest = iter(hashes)
    while some := [bytes.fromhex(hash_) for hash_ in islice(rest, _AT_ONCE)]:
        found |= {hash_.hex(): unpack(data) for hash_, data in packed(run_id, some).items()}
    return found


def skeletons(texts: list[str]) -> Iterator[Skeleton]:
    """The skeleton after each row, one object that grows. Raises BrokenCheckpoint."""
    skeleton = Skeleton()
    for text in texts:
        skeleton.apply(read_row(text))
        yield skeleton


def states_of(checkpoints: Sequence[Checkpoint]) -> Iterator[State]:
    """The states of checkpoints of one run that are in order of branch and number; neighbours share what they have.

    Raises:
        BrokenCheckpoint: at the first one that cannot be read, or is not what was saved.
    """
    blobs = Blobs()
    before = State({})
    for _, group in groupby(checkpoints, key=lambda row: (row.branch_id, row.base)):
        wanted = list(group)
        texts, _window = rows_of(wanted[-1])
        by_number = {row.number: row for row in wanted}
        for number, skeleton in enumerate(skeletons(texts), wanted[0].base):
            if number in by_number:
                row = by_number[number]
                if missing := blobs.missing(skeleton.blobs()):
                    blobs.add(blobs_in(row.run_id, missing))
                before = _checked(row, standing_on(before, skeleton.resolve(blobs)))
                yield before


def _checked(checkpoint: Checkpoint, state: State) -> State:
    # The proof that nothing is damaged: names and bytes of all fields are under this hash.
    if state.state_hash != checkpoint.state_hash:
        raise BrokenCheckpoint("The stored checkpoint is not the one that was saved: its hash differs.")
    return state


def _read(checkpoint: Checkpoint) -> Tip:
    texts, window = rows_of(checkpoint)
    *_, skeleton = skeletons(texts)
    blobs = Blobs(blobs_in(checkpoint.run_id, skeleton.blobs()))
    state = _checked(checkpoint, skeleton.resolve(blobs))
    return Tip(
        id=checkpoint.pk,
        run_id=checkpoint.run_id,
        number=checkpoint.number,
        base=checkpoint.base,
        weight=sum(map(size_of, texts[1:])),
        window=window,
        state=state,
        skeleton=skeleton,
    )


def cost(tip: Tip) -> int:
    """About the bytes of memory that it takes: its texts, what they were told as, and the objects around each.

    The objects count, too: an object of fifty thousand numbers has half a megabyte of text and takes thirty.
    """
    found = 32_768 + 3 * tip.state.size
    for value in tip.state.values.values():
        for part in value.members.values() if isinstance(value, Members) else (value,):
            found += _A_VALUE + (_AN_ITEM * part.length if isinstance(part, Items) else 0)
    return found
