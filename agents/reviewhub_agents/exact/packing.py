"""From Python values to a tree that canonical JSON can write."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from reviewhub_agents.canonical import MAX_DEPTH, Writable, dumps
from reviewhub_agents.canonical.values import is_safe

from . import scalars, times
from .known import Types
from .objects import fields_of, write_enum
from .values import Refused, Unread, escaped, marked, refuse

Fallback = Callable[[Any], Any]
_WRITERS = scalars.WRITERS | times.WRITERS


def pack(value: Any, *, types: Iterable[type] | Mapping[str, type] | Types = ()) -> Writable:
    """`value` as a tree that canonical JSON writes and `unpack` reads back, equal and of the same types.

    Takes what JSON has, and Decimal, int of any size, float with NaN and infinities, complex, datetime, date, time,
    timedelta, UUID, bytes, bytearray, tuple, set, frozenset, deque, enum members, dict with keys of any of these,
    any text, `OpaqueBytes`, `Unread` and `canonical.Number`; of `types` also named tuples, dataclasses and pydantic
    models. The result shares no list and no dict with `value`.

    Raises:
        NotExact: something in it cannot be kept; names its path and its type.
    """
    return _packed(value, Packer(Types(types)))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal with all their types, inside too; NaN equals NaN. False where either is unknown."""
    try:
        texts = [dumps(Packer(Types(), fallback=_by_identity).pack(value)) for value in (one, other)]
    except Refused:
        return bool(type(one) is type(other) and one == other)
    return texts[0] == texts[1]


def _is_name(key: Any) -> bool:
    return type(key) is str and is_safe(key)


def _by_identity(value: Any) -> Any:
    refuse(f"{type(value).__qualname__} is compared by its own equality.")


def _packed(value: Any, packer: Packer) -> Any:
    try:
        return packer.pack(value)
    except Refused as refused:
        raise refused.named() from refused.__cause__


class Packer:
    """One walk over a value. Depth is bounded by that of canonical JSON, so it may use the interpreter's stack."""

    def __init__(self, types: Types, *, fallback: Fallback | None = None) -> None:
        """`fallback` gives a JSON value for one of an unknown type, or raises `Refused`."""
        self._types = types
        self._fallback = fallback
        self._depth = 0

    def pack(self, value: Any) -> Writable:
        """The tree of `value`; raises `Refused`."""
        kind = type(value)
        if kind is str:
            return value if is_safe(value) else scalars.write_text(value)
        if value is None or kind is bool:
            return value
        if kind is list:
            return self._items(value)
        if kind is dict:
            return self._dict(value)
        write = _WRITERS.get(kind)
        if write is not None:
            return write(value)
        return self._rare(kind, value)

    def _rare(self, kind: type, value: Any) -> Writable:
        if isinstance(value, Enum):
            return write_enum(value, self._types)
        if kind is tuple:
            return marked("tuple", value=self._items(value, below=1))
        if kind is set or kind is frozenset:
            return marked(kind.__name__, value=self._set(value))
        if kind is deque:
            bound = {} if value.maxlen is None else {"maxlen": value.maxlen}
            return marked("deque", value=self._items(value, below=1), **bound)
        if kind is Unread:
            return value.tree
        if self._fallback is not None and self._types.name_of(kind) is None:
            return self.pack(self._fallback(value))
        name, fields, more = fields_of(value, self._types)
        return marked("object", type=name, value=self._members(fields, below=1), **more)

    def _items(self, items: Iterable[Any], *, below: int = 0) -> list[Writable]:
        self._enter(1 + below)
        out: list[Writable] = []
        pack = self.pack
        try:
            for item in items:
                out.append(pack(item))
        except Refused as refused:
            refused.keys.append(len(out))
            raise
        self._depth -= 1 + below
        return out

    def _dict(self, value: dict[Any, Any]) -> dict[str, Writable]:
        if all(map(_is_name, value)):
            return self._members(value)
        self._enter(3)
        out: list[Writable] = []
        key: Any = None
        try:
            for key, item in value.items():
                out.append([self.pack(key), self.pack(item)])
        except Refused as refused:
            refused.keys.append(key if type(key) is str else f"{key!a:.80}")
            raise
        self._depth -= 3
        return marked("dict", value=out)

    def _members(self, value: Mapping[str, Any], *, below: int = 0) -> dict[str, Writable]:
        self._enter(1 + below)
        out: dict[str, Writable] = {}
        pack = self.pack
        key = ""
        try:
            for key, item in value.items():
                out[escaped(key) if key[:1] == "$" else key] = pack(item)
        except Refused as refused:
            refused.keys.append(key)
            raise
        self._depth -= 1 + below
        return out

    def _set(self, value: Iterable[Any]) -> list[Writable]:
        # By their texts: the same set has one text, whatever order its items happen to be in.
        items = self._items(value, below=1)
        return [item for _, item in sorted(((dumps(item), item) for item in items), key=lambda pair: pair[0])]

    def _enter(self, levels: int) -> None:
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise Refused(
                f"The value contains itself, or is nested more than {MAX_DEPTH} levels deep.", code="too_deep"
            )
