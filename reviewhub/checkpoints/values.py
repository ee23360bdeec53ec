"""The value of one field, as the parts in which it is kept: canonical texts throughout, no number is ever read. Pure.

A list is its items, so that one more item costs one more item. A large object is its members. All else is one text.
Values are shared between states and never change; a digest is computed once, and that of a list which grew goes on
from where the shorter one's ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from operator import eq
from typing import TypeAlias

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

WIDE = 16_384
"""An object whose text has more bytes than this is kept by its members."""


class Text:
    """A value that is kept whole."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return size_of(self.text)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        return sha256(self.text.encode()).hexdigest()


class Items:
    """A list, as the canonical texts of its items."""

    def __init__(self, texts: Sequence[str], *, after: Items | None = None) -> None:
        """`after` is a list that this one begins with; the caller knows that it does."""
        self.texts = list(texts)
        self._after = after if after is not None and after.texts else None

    @property
    def text(self) -> str:
        """The canonical text of the list."""
        return f"[{','.join(self.texts)}]"

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        before = self._after
        if before is None:
            return 2 + max(len(self.texts) - 1, 0) + sum(map(size_of, self.texts))
        more = self.texts[len(before.texts) :]
        return before.size + len(more) + sum(map(size_of, more))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        whole = self._opened.copy()
        whole.update(b"]")
        return whole.hexdigest()

    @cached_property
    def _opened(self) -> hashlib._Hash:
        """SHA-256 over the text without its closing bracket; whoever goes on from it takes a copy."""
        before = self._after
        if before is None:
            return sha256(("[" + ",".join(self.texts)).encode())
        _ = self.size  # Counted while it can go on from the shorter one too.
        more = self.texts[len(before.texts) :]
        hashed = before._opened.copy()
        hashed.update("".join(f",{text}" for text in more).encode())
        self._after = None  # What it went on from need not be kept.
        return hashed

    def appended(self, more: Sequence[str]) -> Items:
        """This list with `more` at its end."""
        return Items([*self.texts, *more], after=self)


class Members:
    """A large object, as its members in order of their names."""

    def __init__(self, members: Mapping[str, Text | Items]) -> None:
        self.members = {name: members[name] for name in sorted(members)}

    @cached_property
    def text(self) -> str:
        """The canonical text of the object."""
        return object_text(self.members)

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return object_size(self.members)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        return sha256(self.text.encode()).hexdigest()


Value: TypeAlias = Text | Items | Members


def value_of(tree: Tree) -> Value:
    """The value that a parsed tree is. Raises `BadJson` for what cannot be kept, with the path below it."""
    if isinstance(tree, list):
        return Items(item_texts(tree))
    if not isinstance(tree, dict):
        return Text(canonical.dumps(tree))
    text = Text(canonical.dumps(tree))
    if text.size <= WIDE:
        return text
    return Members({name: _member(value) for name, value in tree.items()})


def item_texts(items: list[Tree]) -> list[str]:
    """The canonical texts of a list's items. Raises `BadJson` with the path from the list on."""
    try:
        return [canonical.dumps(item) for item in items]
    except canonical.BadJson:
        canonical.dumps(items)  # Raises again, and knows at which item.
        raise


def follow(old: Value | None, new: Value) -> Value:
    """`new`, standing on what it shares with `old`: an equal value is `old` itself, a longer list goes on from it."""
    if old is new:
        return old
    if isinstance(old, Text) and isinstance(new, Text):
        return old if old.text == new.text else new
    if isinstance(old, Items) and isinstance(new, Items):
        return _follow_items(old, new)
    if isinstance(old, Members) and isinstance(new, Members):
        return _follow_members(old, new)
    return new


def common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many items at their beginning two lists share."""
    if new[: len(old)] == old:
        return len(old)
    return sum(1 for _ in takewhile(bool, map(eq, old, new)))


def object_text(members: Mapping[str, Value]) -> str:
    """The canonical text of an object with these members, which are in order."""
    return "{" + ",".join(f"{canonical.dumps(name)}:{value.text}" for name, value in members.items()) + "}"


def object_size(members: Mapping[str, Value]) -> int:
    """Bytes of that text."""
    names = sum(size_of(canonical.dumps(name)) for name in members)
    # Braces, a colon for each and the commas between them.
    return 2 + names + len(members) + max(len(members) - 1, 0) + sum(value.size for value in members.values())


def size_of(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _member(tree: Tree) -> Text | Items:
    return Items(item_texts(tree)) if isinstance(tree, list) else Text(canonical.dumps(tree))


def _follow_items(old: Items, new: Items) -> Items:
    if new._after is old or new.texts[: len(old.texts)] != old.texts:
        return new
    return old if len(new.texts) == len(old.texts) else Items(new.texts, after=old)


def _follow_members(old: Members, new: Members) -> Members:
    kept: dict[str, Text | Items] = {}
    for name, value in new.members.items():
        shared = follow(old.members.get(name), value)
        assert not isinstance(shared, Members)
        kept[name] = shared
    same = kept.keys() == old.members.keys() and all(kept[name] is old.members[name] for name in kept)
    return old if same else Members(kept)
