"""From a tree that was read to Python values. Nothing is imported, and only the types given are made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from reviewhub_agents.canonical import MAX_DEPTH, Number, Writable

from . import scalars, times
from .known import Types
from .objects import read_enum, read_object
from .scalars import Members, only, read_complex, text_of
from .times import UnknownZone
from .values import MARK, Refused, Unread, is_marked, refuse, unescaped

_READERS = scalars.READERS | times.READERS


def unpack(
    tree: Writable,
    *,
    types: Iterable[type] | Mapping[str, type] | Types = (),
    numbers: Callable[[Number], Any] | None = None,
) -> Any:
    """The value that `pack` was given.

    Types that are not among `types`, zones that are not known here and marks of later versions become `Unread`. An
    integer literal becomes an int, another number a float if that is written the same; a number that neither writes
    like that (``1E2``) stays a `canonical.Number`, or becomes what `numbers` makes of it.

    Raises:
        NotExact: a marked object is not as its type says, or does not give back what was kept; names the path.
    """
    try:
        return _Unpacker(Types(types), numbers or _keep).unpack(tree)
    except Refused as refused:
        raise refused.named() from refused.__cause__


def _keep(number: Number) -> Number:
    return number


class _Unpacker:
    def __init__(self, types: Types, numbers: Callable[[Number], Any]) -> None:
        self._types = types
        self._numbers = numbers
        self._depth = 0

    def unpack(self, tree: Writable) -> Any:
        kind = type(tree)
        if kind is str or tree is None or kind is bool:
            return tree
        if kind is Number:
            return self._number(tree)
        if kind is list:
            return self._items(tree)
        if kind is dict:
            return self._marked(tree) if is_marked(tree) else self._members(tree)
        if kind is int or kind is float:
            return tree
        return refuse(f"A value of type {kind.__qualname__} is no part of a JSON tree.")

    def _number(self, number: Number) -> Any:
        literal = number.literal
        if number.is_integer:
            return int(literal) if literal != "-0" else self._numbers(number)
        near = float(literal)
        return near if repr(near) == literal else self._numbers(number)

    def _items(self, tree: list[Writable]) -> list[Any]:
        self._enter()
        out: list[Any] = []
        unpack = self.unpack
        try:
            for item in tree:
                out.append(unpack(item))
        except Refused as refused:
            refused.keys.append(len(out))
            raise
        self._depth -= 1
        return out

    def _members(self, tree: dict[str, Writable]) -> dict[str, Any]:
        self._enter()
        out: dict[str, Any] = {}
        unpack = self.unpack
        key = ""
        try:
            for key, item in tree.items():
                out[unescaped(key) if key[:1] == "$" else key] = unpack(item)
        except Refused as refused:
            refused.keys.append(key)
            raise
        self._depth -= 1
        return out

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Refused(f"The value is nested more than {MAX_DEPTH} levels deep.", code="too_deep")

    def _marked(self, tree: dict[str, Writable]) -> Any:
        if MARK not in tree:
            return Unread(tree)  # of a later version of the format
        kind = tree[MARK]
        if type(kind) is not str:
            refuse(f"The member {MARK} of an object names the type of an exact value.")
        rest = {name: item for name, item in tree.items() if name != MARK}
        read = _READERS.get(kind)
        if read is not None:
            try:
                return read({name: self._plain(name, item) for name, item in rest.items()})
            except UnknownZone:
                return Unread(tree)
        if kind in ("enum", "object"):
            return self._named(kind, tree, rest)
        build = _CONTAINERS.get(kind)
        return Unread(tree) if build is None else build(self._members(rest))

    def _plain(self, name: str, item: Writable) -> Any:
        """A member of a single value: never something nested."""
        if type(item) in (dict, list):
            raise _at(name, Refused("Should be a single value."))
        return self.unpack(item)

    def _named(self, kind: str, tree: dict[str, Writable], rest: dict[str, Writable]) -> Any:
        known = self._types.named(text_of(rest, "type"))
        if known is None:
            return Unread(tree)
        members = self._members(rest)
        return read_enum(known, members) if kind == "enum" else read_object(known, members)


def _read_tuple(members: Members) -> tuple[Any, ...]:
    only(members, "value")
    return tuple(_list(members))


def _read_set(members: Members) -> set[Any]:
    only(members, "value")
    items = _list(members)
    try:
        found = set(items)
    except TypeError as error:
        refuse(f"This cannot be an item of a set: {error}.")
    return found if len(found) == len(items) else refuse("Two items of the set are equal.")


def _read_frozenset(members: Members) -> frozenset[Any]:
    return frozenset(_read_set(members))


def _read_deque(members: Members) -> deque[Any]:
    only(members, "value", "maxlen")
    items, bound = _list(members), members.get("maxlen")
    if bound is not None and (type(bound) is not int or bound < len(items)):
        refuse("The deque has more items than it holds.")
    try:
        return deque(items, bound)
    except OverflowError:
        refuse("The deque holds more items than a deque can.")


def _read_dict(members: Members) -> dict[Any, Any]:
    only(members, "value")
    pairs = _list(members)
    if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
        refuse("Should be a list of pairs of key and value.")
    try:
        found = dict(pairs)
    except TypeError as error:
        refuse(f"This cannot be a key of a dict: {error}.")
    return found if len(found) == len(pairs) else refuse("Two keys of the dict are equal.")


_CONTAINERS: Final[dict[str, Callable[[Members], Any]]] = {
    "tuple": _read_tuple,
    "set": _read_set,
    "frozenset": _read_frozenset,
    "deque": _read_deque,
    "dict": _read_dict,
    "complex": read_complex,
}


def _list(members: Members) -> list[Any]:
    found = members.get("value")
    return found if type(found) is list else refuse("Should be a list.")


def _at(key: str, refused: Refused) -> Refused:
    refused.keys.append(key)
    return refused
