"""The stored form of a checkpoint: operations on a state, as text, packed. Pure. See also `docs/checkpoints.md`.

A row's text is lines. The first is a JSON array of operations, each an array itself; the others are canonical values,
one a line (canonical JSON has no line breaks), taken by the operations in their order. A path is the name of a field,
or `[field, member]` inside a field that is kept by its members.

    ["=", path]                      the value is the next line
    ["#", path, hash]                the value is the blob of that hash
    ["[", path, at, cut, part, …]    list items [at, at + cut) are replaced by the parts; a missing list is made.
                                     A part is n (the next n lines) or [n, hash] (the n lines of a blob)
    ["{", path]                      the value is an empty object, to be filled by operations on its members
    ["-", path]                      the value is gone

A row that stands alone (a manifest) applies to the empty state, every other one to the state of the row before.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, TypeAlias

import zstandard

from reviewhub.core.errors import ReviewHubError

RAW, ZSTD, ZSTD_AFTER = b"\x00", b"\x01", b"\x02"
_MAGIC = b"\x28\xb5\x2f\xfd"
WINDOW = 16_384
"""Bytes of the rows before that a row is compressed with; further back there is little to gain (measured)."""
_DICTIONARY = 8192
"""How much of the window is a dictionary: a reader has all of it, a writer reads it in anew for each row, and the older
half saves one byte in a hundred for a third of the time (measured)."""
INLINE = 256
"""A value whose text has at most this many bytes stands in the row itself."""
MOST = 130_000_000
"""What packed bytes may unpack to: twice the largest state."""
_LEVEL = 3
# The search of level 3 in tables that fit the dictionary: half the time, and hardly a byte more (measured).
_SMALL = zstandard.ZstdCompressionParameters(
    window_log=15,
    hash_log=12,
    chain_log=12,
    search_log=1,
    min_match=4,
    strategy=zstandard.STRATEGY_DFAST,
    write_content_size=True,
)

Path: TypeAlias = tuple[str] | tuple[str, str]


class BrokenCheckpoint(ReviewHubError):
    """The stored checkpoint cannot be read: its bytes are damaged."""

    code = "broken_checkpoint"


@dataclass(frozen=True)
class Stored:
    """A run of list items in a blob: items [start, stop) of the `count` lines that it has."""

    hash: str
    count: int
    start: int
    stop: int

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the blob."""
        return self.stop - self.start == self.count


Part: TypeAlias = "Stored | list[str]"


@dataclass(frozen=True)
class Put:
    """The value of `path` is `text`."""

    path: Path
    text: str


@dataclass(frozen=True)
class Refer:
    """The value of `path` is the blob of this hash."""

    path: Path
    hash: str


@dataclass(frozen=True)
class Splice:
    """Items [at, at + cut) of the list at `path` are replaced by `parts`."""

    path: Path
    at: int
    cut: int
    parts: Sequence[Part]


@dataclass(frozen=True)
class Open:
    """The value of `path` is an object without members."""

    path: Path


@dataclass(frozen=True)
class Remove:
    """There is no value at `path`."""

    path: Path


Op: TypeAlias = Put | Refer | Splice | Open | Remove


def write_row(ops: Sequence[Op]) -> str:
    """The text of a row."""
    lines: list[str] = []
    head = [_written(op, lines) for op in ops]
    return "\n".join([f"[{','.join(head)}]", *lines])


def read_row(text: str) -> list[Op]:
    """The operations of a row's text. Raises BrokenCheckpoint when it is none."""
    head, *lines = text.split("\n")
    given = iter(lines)
    try:
        ops = [_read(raw, given) for raw in json.loads(head)]
    except (ValueError, TypeError, IndexError, KeyError, StopIteration, RecursionError) as error:
        raise BrokenCheckpoint from error
    if next(given, None) is not None:
        raise BrokenCheckpoint
    return ops


def pack(raw: bytes, *, window: bytes = b"") -> bytes:
    """One byte that says how, then `raw`, compressed if that is shorter.

    Args:
        window: bytes that whoever unpacks it has too, to which compressed bytes may refer back.
    """
    if not window:
        writer = _own.writer
    elif len(raw) <= WINDOW:
        writer = zstandard.ZstdCompressor(compression_params=_SMALL, dict_data=_dictionary(window))
    else:
        writer = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(window))
    packed = writer.compress(raw)
    if len(packed) >= len(raw):
        return RAW + raw
    return (ZSTD_AFTER if window else ZSTD) + packed


def unpack(packed: bytes, *, window: bytes = b"", most: int = MOST) -> bytes:
    """What `pack` packed. Raises BrokenCheckpoint when it is damaged or has more than `most` bytes."""
    how, rest = packed[:1], packed[1:]
    if how == RAW:
        return rest
    if how not in (ZSTD, ZSTD_AFTER):
        raise BrokenCheckpoint
    try:
        # The size that the frame claims is what is set aside for it, so it is looked at first.
        size = zstandard.frame_content_size(rest)
        if not 0 <= size <= most:
            raise BrokenCheckpoint(
                f"The stored checkpoint unpacks to more than {most} bytes, which is the limit."
            )
        if how == ZSTD_AFTER and window:
            return _own.reader.decompress(_preceded(rest, size, window))[len(window) :]
        return _own.reader.decompress(rest)
    except (zstandard.ZstdError, IndexError) as error:
        raise BrokenCheckpoint from error


def unpack_text(packed: bytes, *, window: bytes = b"") -> str:
    """The text that was packed. Raises BrokenCheckpoint."""
    try:
        return unpack(packed, window=window).decode()
    except UnicodeDecodeError as error:
        raise BrokenCheckpoint from error


def slide(window: bytes, text: str) -> bytes:
    """The window of the row after the one with this text, of which `window` is the own one."""
    return (window + text.encode())[-WINDOW:]


class _Own(threading.local):
    """What packs and unpacks without a window, for each thread: made anew, it costs more than a small value does."""

    def __init__(self) -> None:
        self.writer = zstandard.ZstdCompressor(level=_LEVEL)
        self.reader = zstandard.ZstdDecompressor()


_own = _Own()


def _preceded(frame: bytes, size: int, window: bytes) -> bytes:
    """The frame of `window` and what comes after it, for a frame that was compressed with it as dictionary.

    To a reader a dictionary of raw content is what came before. One that has a dictionary is made anew for each, which
    takes five times as long as reading a row; so here the window does come before, as a block (RFC 8878, 3.1.1).

    Args:
        size: what `frame` unpacks to.
    """
    what = frame[4]
    is_single = what >> 5 & 1
    header = 6 - is_single + (0, 1, 2, 4)[what & 3] + (is_single, 2, 4, 8)[what >> 6]
    return b"".join(
        (
            _MAGIC,
            b"\xa0",  # One segment, whose size has four bytes; no checksum, no number of a dictionary.
            (len(window) + size).to_bytes(4, "little"),
            (len(window) << 3).to_bytes(3, "little"),  # A block as it is, and not the last one.
            window,
            frame[header:],
        )
    )


def _dictionary(window: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(window[-_DICTIONARY:], dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _written(op: Op, lines: list[str]) -> str:
    """The JSON of an operation. By hand, since an encoder costs more than all else about a small row."""
    names = [encode_basestring(name) for name in op.path]
    path = names[0] if len(names) == 1 else f"[{','.join(names)}]"
    match op:
        case Put():
            lines.append(op.text)
            return f'["=",{path}]'
        case Refer():
            return f'["#",{path},"{op.hash}"]'
        case Splice():
            parts = "".join([f",{_written_part(part, lines)}" for part in op.parts])
            return f'["[",{path},{op.at},{op.cut}{parts}]'
        case Open():
            return f'["{{",{path}]'
        case Remove():
            return f'["-",{path}]'


def _written_part(part: Part, lines: list[str]) -> str:
    if isinstance(part, Stored):
        return f'[{part.count},"{part.hash}"]'
    lines.extend(part)
    return str(len(part))


def _read(raw: Any, lines: Iterator[str]) -> Op:
    kind, path = raw[0], _path(raw[1])
    match kind:
        case "=":
            return Put(path, next(lines))
        case "#":
            return Refer(path, _hash(raw[2]))
        case "[":
            at, cut, *parts = raw[2:]
            return Splice(path, _count(at), _count(cut), [_read_part(part, lines) for part in parts])
        case "{":
            return Open(path)
        case "-":
            return Remove(path)
    raise BrokenCheckpoint


def _read_part(raw: Any, lines: Iterator[str]) -> Part:
    if isinstance(raw, list):
        count = _count(raw[0])
        return Stored(_hash(raw[1]), count, 0, count)
    return [next(lines) for _ in range(_count(raw))]


def _path(raw: Any) -> Path:
    if isinstance(raw, str):
        return (_name(raw),)
    field, member = raw
    return (_name(field), _name(member))


def _name(raw: Any) -> str:
    """A name that a state can have: no text holds U+0000 or half a character, and no hash can be made of them."""
    if not isinstance(raw, str) or "\0" in raw:
        raise BrokenCheckpoint
    raw.encode()
    return raw


def _count(raw: Any) -> int:
    if type(raw) is not int or raw < 0:
        raise BrokenCheckpoint
    return raw


def _hash(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) != 64:
        raise BrokenCheckpoint
    bytes.fromhex(raw)
    return raw
