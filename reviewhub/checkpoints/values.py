"""The value of one field, as the parts in which it is kept: canonical texts throughout, no number is ever read. Pure.

A list is its items, so that one more item costs one more item; they are held in chunks, which states share. A large
object is its members. All else is one text. Values never change; a digest is computed once, and that of a list which
grew goes on from where the shorter one's ended. What comes from the database stays bytes until its text is asked for:
to prove that it is what was saved, its bytes are enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import repeat, takewhile
from operator import eq
from typing import Any, TypeAlias

# That of functools holds one lock for all objects while it computes: a thread that hashes 64 MB would stop the others.
from django.utils.functional import cached_property
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.checkpoints.chunks import Chunk, chunks_of, decoded, size_of

WIDE = 16_384
"""An object whose text has more bytes than this is kept by its members."""
_SHORT = 100


class Text:
    """A value that is kept whole."""

    def __init__(self, text: str | bytes, *, told: str | None = None) -> None:
        """`text` may be its bytes. `told` is the text that the value is, if it is one and was given as such."""
        self._held = text
        self.told = told

    @property
    def text(self) -> str:
        """The canonical text."""
        held = self._held
        if isinstance(held, bytes):
            held = self._held = decoded(held)
        return held

    @property
    def raw(self) -> bytes:
        """The bytes of the text."""
        held = self._held
        return held if isinstance(held, bytes) else held.encode()

    def raws(self) -> Iterator[bytes]:
        """The bytes of the text, in pieces."""
        yield self.raw

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        held = self._held
        return len(held) if isinstance(held, bytes) else size_of(held)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        return sha256(self.raw).hexdigest()


class Items:
    """A list, as the canonical texts of its items."""

    def __init__(
        self, chunks: Sequence[Chunk], *, after: Items | None = None, more: Sequence[str] = ()
    ) -> None:
        """`after` is a list that this one begins with, `more` are the items behind it; the caller knows that."""
        self.chunks = chunks
        self.length = sum([chunk.count for chunk in chunks])
        # One attribute: who reads it while another thread clears it has both or none.
        self._grown = (after, more) if after is not None and after.length else None

    @property
    def texts(self) -> list[str]:
        """The texts of all items."""
        return self.between(0, self.length)

    @property
    def is_told(self) -> bool:
        """Whether it is known of all items how they were told."""
        return all(chunk.told is not None for chunk in self.chunks)

    def goes_on_from(self, other: Items) -> bool:
        """Whether it was made of `other`, and no more is known of it than that."""
        return self._grown is not None and self._grown[0] is other

    def added_to(self, other: Items) -> Sequence[str] | None:
        """The texts of the items that it has behind those of `other`, if it is known without a look at them."""
        grown = self._grown
        return grown[1] if grown is not None and grown[0] is other else None

    @property
    def text(self) -> str:
        """The canonical text of the list."""
        return decoded(b"".join(self.raws()))

    def raws(self) -> Iterator[bytes]:
        """The bytes of the text, in pieces."""
        yield from self._open_raws()
        yield b"]"

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        if self._grown is None:
            return 2 + max(self.length - 1, 0) + sum([chunk.size for chunk in self.chunks])
        before, more = self._grown
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
        grown = self._grown
        if grown is None:
            hashed = sha256()
            for piece in self._open_raws():
                hashed.update(piece)
            return hashed
        before, more = grown
        hashed = before._opened.copy()
        _ = self.size  # Counted while it can go on from the shorter one too.
        for text in more:
            hashed.update(f",{text}".encode())
        self._grown = None  # What it went on from need not be kept.
        return hashed

    def between(self, start: int, stop: int) -> list[str]:
        """The texts of the items [start, stop)."""
        found: list[str] = []
        begin = 0
        for chunk in self.chunks:
            end = begin + chunk.count
            if begin < stop and end > start:
                found += chunk.lines[max(start - begin, 0) : min(stop, end) - begin]
            begin = end
        return found

    def appended(self, more: list[Tree], *, told: list[Any] | None = None) -> Items:
        """This list with `more` at its end. Raises `BadJson`.

        Args:
            told: the items as they were given (`exact`), if the same may be told again.
        """
        texts = item_texts(more)
        chunks = [*self.chunks]
        new = chunks_of(texts, told=told)
        if chunks and chunks[-1].takes(new[0]):
            chunks[-1] = chunks[-1].with_more(new.pop(0))
        return Items([*chunks, *new], after=self, more=texts)

    def _open_raws(self) -> Iterator[bytes]:
        yield b"["
        for place, chunk in enumerate(self.chunks):
            if place:
                yield b","
            yield chunk.raw


class Members:
    """A large object, as its members in order of their names."""

    def __init__(self, members: Mapping[str, Text | Items]) -> None:
        self.members = {name: members[name] for name in sorted(members)}

    @property
    def text(self) -> str:
        """The canonical text of the object."""
        return decoded(b"".join(self.raws()))

    def raws(self) -> Iterator[bytes]:
        """The bytes of the text, in pieces."""
        return object_raws(self.members)

    @cached_property
    def size(self) -> int:
        """Bytes of the text."""
        return object_size(self.members)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the text, 64 hex digits."""
        hashed = sha256()
        for piece in self.raws():
            hashed.update(piece)
        return hashed.hexdigest()


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


def common(old: Items, new: Items) -> int:
    """How many items at their beginning two lists share; chunks that they share are not looked into."""
    shared = 0
    for mine, other in zip(old.chunks, new.chunks, strict=False):
        if not mine.same(other):
            break
        shared += mine.count
    before, after = old.between(shared, old.length), new.between(shared, new.length)
    if after[: len(before)] == before:
        return old.length
    return shared + sum(1 for _ in takewhile(bool, map(eq, before, after)))


def object_raws(members: Mapping[str, Value]) -> Iterator[bytes]:
    """The bytes of the canonical text of an object with these members, which are in order, in pieces."""
    yield b"{"
    for place, (name, value) in enumerate(members.items()):
        yield f"{',' if place else ''}{quoted(name)}:".encode()
        yield from value.raws()
    yield b"}"


def object_size(members: Mapping[str, Value]) -> int:
    """Bytes of that text."""
    names = sum(size_of(quoted(name)) for name in members)
    # Braces, a colon for each and the commas between them.
    return 2 + names + len(members) + max(len(members) - 1, 0) + sum(value.size for value in members.values())


def quoted(name: str) -> str:
    """The canonical text of a name. Raises `BadJson` for one that cannot be kept."""
    return _quoted(name) if len(name) <= _SHORT else canonical.dumps(name)


_quoted = lru_cache(maxsize=4096)(canonical.dumps)


def _list(tree: list[Tree], old: Items | None) -> Items:
    if old is None:
        return Items(_told_chunks(tree))
    kept: list[Chunk] = []
    at = 0
    for chunk in old.chunks:
        if chunk.told is None or tree[at : at + chunk.count] != chunk.told:
            break
        kept.append(chunk)
        at += chunk.count
    rest = tree[at:]
    if len(kept) == len(old.chunks):
        return old.appended(rest, told=[exact(item) for item in rest]) if rest else old
    return Items([*kept, *_told_chunks(rest, known=old.chunks[len(kept) :])])


def _told_chunks(tree: list[Tree], known: Sequence[Chunk] = ()) -> list[Chunk]:
    """The items of a list; those told in the same words at the same place in `known` are not written again."""
    texts: list[str] = []
    told: list[Any] = []
    for chunk in known:
        items = tree[len(texts) : len(texts) + chunk.count]
        for item, text, was in zip(items, chunk.lines, chunk.told or repeat(_NOTHING), strict=False):
            is_known = item == was
            texts.append(text if is_known else canonical.dumps(item))
            told.append(was if is_known else exact(item))
    more = tree[len(texts) :]
    return chunks_of([*texts, *item_texts(more)], told=[*told, *map(exact, more)])


class _Same:
    """Equal to one object and nothing else: Python takes True for 1, a state does not."""

    def __init__(self, *, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return other is self._value

    __hash__ = None  # type: ignore[assignment]


_TRUE, _FALSE, _NOTHING = _Same(value=True), _Same(value=False), _Same(value=object())


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
    return _NOTHING  # Numbers of Python, and what else may be written: equal to nothing.


def _member(tree: Tree) -> Text | Items:
    return Items(chunks_of(item_texts(tree))) if isinstance(tree, list) else Text(canonical.dumps(tree))


def _follow_items(old: Items, new: Items) -> Items:
    if new.goes_on_from(old) or common(old, new) < old.length:
        return new
    if new.length > old.length:
        return Items(new.chunks, after=old, more=new.between(old.length, new.length))
    # The same list; what was told of it last is what will be told next.
    return old if old.is_told or not new.is_told else Items(new.chunks, after=old)


def _follow_members(old: Members, new: Members) -> Members:
    kept: dict[str, Text | Items] = {}
    for name, value in new.members.items():
        shared = follow(old.members.get(name), value)
        assert not isinstance(shared, Members)
        kept[name] = shared
    same = kept.keys() == old.members.keys() and all(kept[name] is old.members[name] for name in kept)
    return old if same else Members(kept)
