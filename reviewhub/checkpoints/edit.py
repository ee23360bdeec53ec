"""A state after changes: only what the changes name is parsed, everything else keeps its bytes and its parts. Pure.

A state may have 64 MB and a person changes three values of it. So the values are laid out as a tree whose parts are
parsed when a change leads into them; what no change leads into is never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.chunks import chunks_of
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import WIDE, Items, Members, Text, Value, object_raws, object_size, value_of
from reviewhub.core.changes import Change, apply_in_place
from reviewhub.core.errors import Invalid, TooLarge


def edited(state: State, changes: Sequence[Change], *, max_bytes: int, at: str = "/changes") -> State:
    """The state that `changes`, in their order, make of `state`.

    Args:
        max_bytes: what the changed state may have.
        at: where the changes stand in what was sent, for errors.

    Raises:
        Invalid: a change does not fit what is there, or makes what cannot be kept; with its path.
        TooLarge: the changed state is larger than `max_bytes`.
    """
    root = _Object({name: _laid_out(value) for name, value in state.values.items()})
    apply_in_place(root, changes, at=at)
    try:
        made = State({name: _value(state.values.get(name), root.raw(name), name) for name in root})
    except canonical.BadJson as error:
        raise Invalid.at(at, f"make a state that is not acceptable: {error}", error.code) from error
    if made.size > max_bytes:
        raise TooLarge(f"The changed state has {made.size} bytes; the limit is {max_bytes}.")
    return made


class _Unread:
    """A part that no change has led into."""

    def __init__(self, text: str) -> None:
        self.text = text


class _List(list[Any]):
    """A list whose items are parsed when a change leads into them."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        if isinstance(found, _Unread):
            found = canonical.reread(found.text)
            super().__setitem__(at, found)
        return found


class _Object(dict[str, Any]):
    """An object whose members are parsed when a change leads into them."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, _Unread):
            found = canonical.reread(found.text)
            super().__setitem__(name, found)
        return found

    def raw(self, name: str) -> Any:
        """What stands there, parsed or not."""
        return super().__getitem__(name)


def _laid_out(value: Value) -> Any:
    if isinstance(value, Items):
        return _List(map(_Unread, value.texts))
    if isinstance(value, Members):
        return _Object({name: _laid_out(member) for name, member in value.members.items()})
    return _Unread(value.text)


def _value(old: Value | None, part: Any, name: str) -> Value:
    """The field as it is kept: the old object, if no change touched it."""
    if isinstance(part, _Object):
        assert isinstance(old, Members)
        members = {key: _leaf(old.members.get(key), part.raw(key), key, depth=2) for key in part}
        same = members.keys() == old.members.keys() and all(
            value is old.members[key] for key, value in members.items()
        )
        if same:
            return old
        members = {key: members[key] for key in sorted(members)}
        return Members(members) if object_size(members) > WIDE else Text(b"".join(object_raws(members)))
    if isinstance(part, _List | _Unread):
        assert not isinstance(old, Members)
        return _leaf(old, part, name, depth=1)
    canonical.dumps(name)
    _text(part, depth=1)
    return value_of(part)


def _leaf(old: Value | None, part: Any, name: str, *, depth: int) -> Text | Items:
    if isinstance(part, _Unread):
        assert isinstance(old, Text)
        return old
    if isinstance(part, _List):
        assert isinstance(old, Items)
        texts = [item.text if isinstance(item, _Unread) else _text(item, depth=depth + 1) for item in part]
        return old if texts == old.texts else Items(chunks_of(texts))
    canonical.dumps(name)
    text = _text(part, depth=depth)
    if isinstance(old, Text) and old.text == text:
        return old
    return (
        Items(chunks_of([canonical.dumps(item) for item in part])) if isinstance(part, list) else Text(text)
    )


def _text(part: Tree, *, depth: int) -> str:
    """The canonical text of a part that lies `depth` deep, if it is acceptable there."""
    text = canonical.dumps(part)
    most = 4 * len(text) + 2 * depth
    whole = "[" * depth + text + "]" * depth
    canonical.parse(whole, max_bytes=most, max_values=most, max_depth=settings.LIMIT_DEPTH)
    return text
