"""A run of list items, as states hold and share them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reviewhub.checkpoints.rows import BrokenCheckpoint

FULL = 64
"""A chunk with as many items gets no more."""
_LONG = 256


class Chunk:
    """Some items of a list, one or more, as canonical texts. Never changes.

    What comes from the database stays the bytes of its lines until an item is asked for: hashing, and writing the
    text, need none.
    """

    __slots__ = ("_held", "count", "told")

    def __init__(self, held: list[str] | bytes, *, count: int, told: list[Any] | None = None) -> None:
        """`held` are the texts, or the bytes of as many lines. `told` are the items as they were given, if known."""
        self._held = held
        self.count = count
        self.told = told

    @classmethod
    def stored(cls, raw: bytes, *, count: int) -> Chunk:
        """The lines of a blob. Raises BrokenCheckpoint when there are not `count`."""
        if _lines_in(raw, count) != count:
            raise BrokenCheckpoint
        return cls(raw, count=count)

    @property
    def lines(self) -> list[str]:
        """The texts of the items."""
        held = self._held
        if isinstance(held, bytes):
            held = self._held = decoded(held).split("\n")
        return held

    @property
    def raw(self) -> bytes:
        """The bytes of the items, with commas between them."""
        held = self._held
        # Joined as text, one character beyond the BMP would make all of it four times as large.
        return held.replace(b"\n", b",") if isinstance(held, bytes) else b",".join(map(str.encode, held))

    @property
    def size(self) -> int:
        """Bytes of the items alone."""
        held = self._held
        return len(held) - self.count + 1 if isinstance(held, bytes) else sum(map(size_of, held))

    def same(self, other: Chunk) -> bool:
        """Whether it is known without a look at the items that both have the same."""
        return self is other or self._held is other._held

    def takes(self, other: Chunk) -> bool:
        """Whether the other one's items may be added."""
        return self.count < FULL and other.count < FULL

    def with_more(self, other: Chunk) -> Chunk:
        """The items of both."""
        told = None if self.told is None or other.told is None else [*self.told, *other.told]
        return Chunk([*self.lines, *other.lines], count=self.count + other.count, told=told)


def chunks_of(texts: Sequence[str], *, told: Sequence[Any] | None = None) -> list[Chunk]:
    """The chunks of a list with these items."""

    def made() -> Iterator[Chunk]:
        for at in range(0, len(texts), FULL):
            held = list(texts[at : at + FULL])
            yield Chunk(held, count=len(held), told=None if told is None else list(told[at : at + FULL]))

    return list(made())


def decoded(raw: bytes) -> str:
    """Stored bytes as text. Raises BrokenCheckpoint when they are none."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BrokenCheckpoint from error


def size_of(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _lines_in(raw: bytes, expected: int) -> int:
    if expected * _LONG > len(raw):
        return raw.count(b"\n") + 1
    # `count` looks at each byte; a copy without them skips to the next, which for long lines takes a fifth of the time.
    return len(raw) - len(raw.replace(b"\n", b"")) + 1
