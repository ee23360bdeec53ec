"""The value of one field, as the parts in which it is kept: canonical texts throughout, no number is ever read. Pure.

A list is its items, so that one more item costs one more item. A large object is its members. All else is one text.
Values are shared between states and never change; a digest is computed once, and that of a list which grew goes on
from where the shorter one's ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import takewhile
from operator import eq
from typing import Any, TypeAlias

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

WIDE = 16_384
"""An object whose text has more bytes than this is kept by its members."""
_PORTION = 64
_SHORT = 100


class Text:
    """A value that is kept whole."""

    def __init__(self, text: str, *, told: str | None = None) -> None:
        """`told` is the text that the value is, if it is one and was given as such."""
        self.text = text
        self.told = told

    @property
    def pieces(self) -> list[str]:
        """What the text is joined of."""
        return [self.text]

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

    def __init__(
        self, texts: Sequence[str], *, after: Items | None = None, told: list[Any] | None = None
    ) -> None:
        """`after` is a list that this one begins with; the caller knows that it does. `told` are the items as they were
        given (`exact`), if they are known."""
        self.texts = list(texts)
        self.told = told
        self._after = after if after is not None and after.texts else None

    @property
    def text(self) -> str:
        """The canonical text of the list."""
        return f"[{','.join(self.texts)}]"

    @property
    def pieces(self) -> list[str]:
        """What the text is joined of."""
        if not self.texts:
            return ["[]"]
        found = [","] * (2 * len(self.texts) + 1)
        found[0], found[-1] = "[", "]"
        found[1::2] = self.texts
        return found

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
        start = len(before.texts) if before else 0
        hashed = before._opened.copy() if before else sha256(b"[")
        _ = self.size  # Counted while it can go on from the shorter one too.
        # In portions: one character beyond the BMP makes the text of all four times as large in memory.
        for at in range(start, len(self.texts), _PORTION):
            portion = ",".join(self.texts[at : at + _PORTION])
            hashed.update((f",{portion}" if at else portion).encode())
        self._after = None  # What it went on from need not be kept.
        return hashed

    def appended(self, more: list[Tree]) -> Items:
        """This list with `more` at its end. Raises `BadJson`."""
        told = None if self.told is None else [*self.told, *map(exact, more)]
        return Items([*self.texts, *item_texts(more)], after=self, told=told)


class Members:
    """A large object, as its members in order of their names."""

    def __init__(self, members: Mapping[str, Text | Items]) -> None:
        self.members = {name: members[name] for name in sorted(members)}

    @property
    def text(self) -> str:
        """The canonical text of the object."""
        return object_text(self.members)

    @property
    def pieces(self) -> list[str]:
        """What the text is joined of."""
        return object_pieces(self.members)

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return object_size(self.members)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        return sha256(self.text.encode()).hexdigest()


Value: TypeAlias = Text | Items | Members


def value_of(tree: Tree, *, old: Value | None = None) -> Value:
    """The value that a parsed tree is. Raises `BadJson` for what cannot be kept, with the path below it.

    Args:
        old: the value before; what was told in the same words then is not written again.
    """
    if type(tree) is list:
        return _list(tree, old if isinstance(old, Items) else None)
    if type(tree) is str:
        if isinstance(old, Text) and old.told == tree:
            return old
        return Text(canonical.dumps(tree), told=tree)
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
    return "".join(object_pieces(members))


def object_pieces(members: Mapping[str, Value]) -> list[str]:
    """What that text is joined of, at once: a large text is copied once only."""
    found: list[str] = []
    for name, value in members.items():
        found += (f"{',' if found else '{'}{quoted(name)}:", *value.pieces)
    return [*found, "}"] if found else ["{}"]


def object_size(members: Mapping[str, Value]) -> int:
    """Bytes of that text."""
    names = sum(size_of(quoted(name)) for name in members)
    # Braces, a colon for each and the commas between them.
    return 2 + names + len(members) + max(len(members) - 1, 0) + sum(value.size for value in members.values())


def quoted(name: str) -> str:
    """The canonical text of a name. Raises `BadJson` for one that cannot be kept."""
    return _quoted(name) if len(name) <= _SHORT else canonical.dumps(name)


_quoted = lru_cache(maxsize=4096)(canonical.dumps)


def size_of(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _list(tree: list[Tree], old: Items | None) -> Items:
    known = old.told if old else None
    if old is None or known is None:
        return Items(item_texts(tree), told=[exact(item) for item in tree])
    if tree[: len(known)] == known:
        return old.appended(tree[len(known) :]) if len(tree) > len(known) else old
    texts, told = [], []
    for at, item in enumerate(tree):
        is_known = at < len(known) and item == known[at]
        texts.append(old.texts[at] if is_known else canonical.dumps(item))
        told.append(known[at] if is_known else exact(item))
    return Items(texts, told=told)


class _Same:
    """Equal to one object and nothing else: Python takes True for 1, a state does not."""

    def __init__(self, *, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return other is self._value

    __hash__ = None  # type: ignore[assignment]


_TRUE, _FALSE = _Same(value=True), _Same(value=False)


def exact(tree: Tree, *, depth: int = 0) -> Any:
    """A copy that equals a tree only if both have the same canonical text."""
    kind = type(tree)
    if tree is None or kind is str or kind is Number:
        return tree
    if kind is bool:
        return _TRUE if tree else _FALSE
    if depth < canonical.MAX_DEPTH:
        if isinstance(tree, dict):
            return {name: exact(value, depth=depth + 1) for name, value in tree.items()}
        if isinstance(tree, list):
            return [exact(value, depth=depth + 1) for value in tree]
    return _Same(value=object())  # Numbers of Python, and what else may be written: equal to nothing.


def _member(tree: Tree) -> Text | Items:
    return Items(item_texts(tree)) if isinstance(tree, list) else Text(canonical.dumps(tree))


def _follow_items(old: Items, new: Items) -> Items:
    if new._after is old or new.texts[: len(old.texts)] != old.texts:
        return new
    if len(new.texts) > len(old.texts):
        return Items(new.texts, after=old, told=new.told)
    # The same list; what was told of it last is what will be told next.
    is_told_anew = old.told is None and new.told is not None
    return Items(new.texts, after=old, told=new.told) if is_told_anew else old


def _follow_members(old: Members, new: Members) -> Members:
    kept: dict[str, Text | Items] = {}
    for name, value in new.members.items():
        shared = follow(old.members.get(name), value)
        assert not isinstance(shared, Members)
        kept[name] = shared
    same = kept.keys() == old.members.keys() and all(kept[name] is old.members[name] for name in kept)
    return old if same else Members(kept)
