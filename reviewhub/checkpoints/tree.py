"""The content of a checkpoint: its fields, their digests, the hash of the whole, and what hints make of it. Pure.

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
from hashlib import sha256

from django.utils.functional import cached_property
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.values import Items, Value, follow, object_raws, object_size, quoted, value_of
from reviewhub.core.errors import Invalid, TooLarge

STATE_HASH_VERSION = 1
MAX_STATE_BYTES = 64_000_000


class State:
    """The fields of one state, in order of their names. Two are equal when every byte is."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = {name: values[name] for name in sorted(values)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.state_hash == other.state_hash

    __hash__ = None  # type: ignore[assignment]  # as of every mapping

    @cached_property
    def fields(self) -> dict[str, str]:
        """Name → canonical text of the value."""
        return {name: value.text for name, value in self.values.items()}

    @cached_property
    def raw(self) -> bytes:
        """The canonical bytes of the whole state. Text would be told as wide as its widest character is: with one
        emoji in it, a megabyte takes four.
        """
        return b"".join(object_raws(self.values))

    @property
    def text(self) -> str:
        """The canonical text of the whole state."""
        return self.raw.decode()

    @cached_property
    def size(self) -> int:
        """Bytes of that text."""
        return object_size(self.values)

    @cached_property
    def digests(self) -> dict[str, str]:
        """The field digests: name → 64 hex digits."""
        return {name: value.digest for name, value in self.values.items()}

    @cached_property
    def state_hash(self) -> str:
        """The hash of the state, by the formula of this module."""
        return state_hash(self.digests)


def state_hash(digests: Mapping[str, str]) -> str:
    """The hash of a state with these field digests (64 hex digits each), `sha256:<hex>`."""
    fields = ",".join(f'{quoted(name)}:"{digests[name]}"' for name in sorted(digests))
    text = f'{{"fields":{{{fields}}},"version":{STATE_HASH_VERSION}}}'
    return "sha256:" + sha256(text.encode()).hexdigest()


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


def make_state(tree: Tree, *, before: State | None = None, max_bytes: int = MAX_STATE_BYTES) -> State:
    """The state that a parsed tree is. Raises as `read_state` does.

    Args:
        before: the state that it probably follows; what was told in the same words then is not written again.
    """
    if not isinstance(tree, dict):
        raise Invalid.at("/state", "a state is a JSON object", "object_type")
    canonical.dumps(dict.fromkeys(tree))  # Names that cannot be kept are refused before anything is sorted.
    known = before.values if before else {}
    return _checked({name: _value(name, value, known.get(name)) for name, value in tree.items()}, max_bytes)


def standing_on(parent: State, state: State) -> State:
    """`state`, with the values that it shares with `parent`; what they share is neither kept nor hashed twice."""
    shared = {name: follow(parent.values.get(name), value) for name, value in state.values.items()}
    same = all(shared[name] is value for name, value in state.values.items())
    return state if same else State(shared)


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
    values: dict[str, Value] = {}
    for name in unchanged:
        values[name] = _parent_value(parent, values, name, f"{at}/unchanged")
    for name, items in append.items():
        place = f"{at}/append/{_escaped(name)}"
        values[name] = _appended(_parent_value(parent, values, name, place), items, place)
    for name, value in changed.items():
        if name in values:
            raise _twice(f"{at}/changed/{_escaped(name)}", name)
        old = parent.values.get(name)
        values[name] = follow(old, value_of(value, old=old))
    return _checked(values, max_bytes)


def _value(name: str, tree: Tree, old: Value | None) -> Value:
    try:
        return value_of(tree, old=old)
    except canonical.BadJson:
        canonical.dumps({name: tree})  # Raises again, and knows in which field.
        raise


def _parent_value(parent: State, taken: Mapping[str, Value], name: str, at: str) -> Value:
    if name in taken:
        raise _twice(at, name)
    if name not in parent.values:
        raise Invalid.at(at, f"the checkpoint before has no field {_escaped(name)}", "unknown_field")
    return parent.values[name]


def _appended(before: Value, items: Tree, at: str) -> Value:
    if not isinstance(items, list):
        raise Invalid.at(at, "must be a list of the items to append", "list_type")
    if not isinstance(before, Items):
        raise Invalid.at(at, "the field is no list in the checkpoint before", "not_a_list")
    return before.appended(items) if items else before


def _checked(values: Mapping[str, Value], max_bytes: int) -> State:
    state = State(values)
    if state.size > max_bytes:
        raise TooLarge(f"The state has {state.size} bytes; the limit is {max_bytes}.")
    return state


def _twice(at: str, name: str) -> Invalid:
    return Invalid.at(at, f"the field {_escaped(name)} is named twice", "named_twice")


def _below_state(fault: canonical.Fault) -> dict[str, str]:
    return {"path": f"/state{fault['path']}", "code": fault["code"], "message": fault["message"]}


def _escaped(name: str) -> str:
    """A name as it may stand in an answer: a name of megabytes is not sent back."""
    return canonical.pointer([name])[1:]
