"""The content of a checkpoint: its fields, their digests, the hash of the whole, and how it is packed. Pure.

A state is a JSON object. Each of its members is a field, kept as the canonical bytes of its value.

The hash of a state (`state_hash`), version 1, can be computed with any JSON and SHA-256 at hand:

1. field digest = SHA-256 over the canonical bytes (UTF-8) of the field's value, as 64 hex digits;
2. text = the canonical JSON text of `{"fields": {name: field digest, …}, "version": 1}`, so with names in order;
3. state_hash = "sha256:" + SHA-256 over the UTF-8 bytes of that text, as hex.

It covers every byte of the state, and a field that did not change needs no second look: a hash of a parent's field
digests and the changed ones is the hash of the new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import JSONDecoder

import zstandard
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.core.errors import Invalid, ReviewHubError, TooLarge

STATE_HASH_VERSION = 1
MAX_STATE_BYTES = 64_000_000
RAW, ZSTD = b"\x00", b"\x01"
_LEVEL = 3
_WINDOW = 1 << 23
_SCANNER = JSONDecoder()


class BrokenCheckpoint(ReviewHubError):
    """The stored checkpoint cannot be read: its bytes are damaged."""

    code = "broken_checkpoint"


@dataclass(frozen=True)
class State:
    """The fields of one state: name → canonical text of the value, names in order."""

    fields: Mapping[str, str]

    @cached_property
    def text(self) -> str:
        """The canonical text of the whole state."""
        return "{" + ",".join(f"{canonical.dumps(name)}:{value}" for name, value in self.fields.items()) + "}"

    @cached_property
    def digests(self) -> dict[str, str]:
        """The field digests: name → 64 hex digits."""
        return {name: _digest(value) for name, value in self.fields.items()}

    @cached_property
    def state_hash(self) -> str:
        """The hash of the state, by the formula of this module."""
        return state_hash(self.digests)


def state_hash(digests: Mapping[str, str]) -> str:
    """The hash of a state with these field digests (64 hex digits each), `sha256:<hex>`."""
    return "sha256:" + _digest(canonical.dumps({"fields": dict(digests), "version": STATE_HASH_VERSION}))


def read_state(raw: bytes | str, *, max_bytes: int = MAX_STATE_BYTES) -> State:
    """The state in `raw` JSON.

    Raises:
        Invalid: it is no acceptable JSON, or no object; with the path.
        TooLarge: it is larger than `max_bytes`.
    """
    try:
        tree = canonical.parse(raw, max_bytes=max_bytes)
    except canonical.BadJson as error:
        if error.code == "too_large":
            raise TooLarge(str(error)) from error
        raise Invalid(str(error), errors=[_below_state(fault) for fault in error.errors]) from error
    return make_state(tree, max_bytes=max_bytes)


def make_state(tree: Tree, *, max_bytes: int = MAX_STATE_BYTES) -> State:
    """The state that a parsed tree is. Raises as `read_state` does."""
    if not isinstance(tree, dict):
        raise Invalid.at("/state", "a state is a JSON object", "object_type")
    return _checked({name: canonical.dumps(value) for name, value in tree.items()}, max_bytes)


def apply_hints(
    parent: State,
    *,
    changed: Mapping[str, Tree],
    append: Mapping[str, Tree],
    unchanged: Iterable[str],
    parent_hash: str | None = None,
    at: str = "/checkpoint",
    max_bytes: int = MAX_STATE_BYTES,
) -> State:
    """The state after `parent`, from what a client says about each field.

    `changed` gives new values, `append` items for the end of a list, `unchanged` names fields that stay. A field
    that none of them names is gone. A hint that cannot hold is refused, never guessed around:

    Raises:
        Invalid: the parent has another hash, a field is named twice, or is not there, or is no list.
        TooLarge: the result is larger than `max_bytes`.
    """
    if parent_hash is not None and parent_hash != parent.state_hash:
        raise Invalid.at(f"{at}/parent_hash", "the checkpoint before has another hash", "parent_hash")
    fields: dict[str, str] = {}
    for name in unchanged:
        fields[name] = _parent_field(parent, fields, name, f"{at}/unchanged")
    for name, items in append.items():
        place = f"{at}/append/{_escaped(name)}"
        fields[name] = _appended(_parent_field(parent, fields, name, place), items, place)
    for name, value in changed.items():
        if name in fields:
            raise _twice(f"{at}/changed/{_escaped(name)}", name)
        fields[name] = canonical.dumps(value)
    return _checked(fields, max_bytes)


def encode_body(state: State) -> bytes:
    """The stored form: one byte that says how it is packed, then the canonical text, packed if that is shorter."""
    raw = state.text.encode()
    packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(raw)
    return ZSTD + packed if len(packed) < len(raw) else RAW + raw


def decode_body(body: bytes, *, state_hash: str, max_bytes: int = MAX_STATE_BYTES) -> State:
    """The state that `encode_body` packed, checked against its hash.

    Raises:
        BrokenCheckpoint: the bytes are damaged, unpack to more than `max_bytes`, or are not those of that hash.
    """
    body = bytes(body)
    try:
        state = _split(_unpacked(body[:1], body[1:], max_bytes).decode())
    except UnicodeDecodeError as error:
        raise BrokenCheckpoint from error
    # The proof that nothing is damaged: names and bytes of all fields are under this hash.
    if state.state_hash != state_hash:
        raise BrokenCheckpoint("The stored checkpoint is not the one that was saved: its hash differs.")
    return state


def _unpacked(how: bytes, rest: bytes, max_bytes: int) -> bytes:
    if how == RAW:
        return rest
    if how != ZSTD:
        raise BrokenCheckpoint
    try:
        # The size in the frame is a claim; the limit holds for what really comes out.
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(rest) as reader:
            raw = reader.read(max_bytes + 1)
    except zstandard.ZstdError as error:
        raise BrokenCheckpoint from error
    if len(raw) > max_bytes:
        raise BrokenCheckpoint(
            f"The stored checkpoint unpacks to more than {max_bytes} bytes, which is the limit."
        )
    return raw


def _split(text: str) -> State:
    """The fields of a canonical text, cut out of it; no number is read, so none can change."""
    fields: dict[str, str] = {}
    try:
        place = 0
        while text[place] in "{," and text[place + 1] != "}":
            name, colon = _SCANNER.raw_decode(text, place + 1)
            _, place = _SCANNER.raw_decode(text, colon + 1)
            fields[name] = text[colon + 1 : place]
    except (ValueError, IndexError, RecursionError) as error:
        raise BrokenCheckpoint from error
    return State(fields)


def _parent_field(parent: State, taken: Mapping[str, str], name: str, at: str) -> str:
    if name in taken:
        raise _twice(at, name)
    if name not in parent.fields:
        raise Invalid.at(at, f"the checkpoint before has no field {name}", "unknown_field")
    return parent.fields[name]


def _appended(before: str, items: Tree, at: str) -> str:
    """`before` with `items` at its end; both are lists, so this is a matter of brackets."""
    if not isinstance(items, list):
        raise Invalid.at(at, "must be a list of the items to append", "list_type")
    if not before.startswith("["):
        raise Invalid.at(at, "the field is no list in the checkpoint before", "not_a_list")
    after = canonical.dumps(items)
    if before == "[]" or not items:
        return before if not items else after
    return f"{before[:-1]},{after[1:]}"


def _checked(fields: dict[str, str], max_bytes: int) -> State:
    state = State({name: fields[name] for name in sorted(fields)})
    size = len(state.text.encode())
    if size > max_bytes:
        raise TooLarge(f"The state has {size} bytes; the limit is {max_bytes}.")
    return state


def _twice(at: str, name: str) -> Invalid:
    return Invalid.at(at, f"the field {name} is named twice", "named_twice")


def _below_state(fault: canonical.Fault) -> dict[str, str]:
    return {"path": f"/state{fault['path']}", "code": fault["code"], "message": fault["message"]}


def _escaped(name: str) -> str:
    return canonical.pointer([name])[1:]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
