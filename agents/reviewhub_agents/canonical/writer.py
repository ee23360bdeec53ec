"""Writing a tree as canonical text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

from .values import BadJson, Fault, Number, is_safe, pointer, unsafe, unsafe_message

Writable: TypeAlias = Any
"""A `Tree` that may also hold int, float and Decimal. `dumps` refuses all else, even a tuple or an enum."""

MOST_WRITABLE_DEPTH: Final = 1000
"""Not a limit of the contract (`parse` has that): it ends the walk over a value that contains itself."""
_SHALLOW: Final = 30
"""What is nested no deeper is written by recursion, which takes a third of the time that the own stack takes."""
_SMALL: Final = 10**18
"""Integers nearer to zero need no second look at their literals."""


def dumps(tree: Writable) -> str:
    """The canonical text of `tree`: sorted keys, no white space, literals kept, non-ASCII unescaped.

    Takes dict, list, str, bool, None and `Number`, and also int, Decimal and float (by its shortest repr).
    Raises `BadJson` naming the path for anything else, for NaN and Infinity, for keys that are not text, for
    U+0000 and lone surrogates, and for a value nested without end. Nothing is converted silently: a tuple or
    an enum would come back as something else.
    """
    try:
        return _plain(tree, _SHALLOW)
    except _Unusual:
        kind = type(tree)
        writer = _Writer()
        return "".join(writer.pieces(tree)) if kind is dict or kind is list else writer.scalar(tree)


def joined(members: Mapping[str, str]) -> str:
    """The canonical text of an object, from the canonical texts of its values. Raises `BadJson` as `dumps`."""
    return f"{{{','.join([f'{dumps(name)}:{members[name]}' for name in sorted(members)])}}}"


class _Unusual(Exception):
    """A value that the long way writes, or refuses with its path."""


def _plain(value: Writable, depth: int) -> str:
    """The text of what nearly all values are made of. Raises _Unusual for the rest."""
    kind = type(value)
    if kind is str:
        if not is_safe(value):
            raise _Unusual
        return _quoted(value)
    if kind is Number:
        return str(value.literal)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int and -_SMALL < value < _SMALL:
        return int.__repr__(value)
    if not depth:
        raise _Unusual
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise _Unusual
        return (
            f"{{{','.join([f'{_plain(key, 0)}:{_plain(value[key], depth - 1)}' for key in sorted(value)])}}}"
        )
    if kind is list:
        return f"[{','.join([_plain(item, depth - 1) for item in value])}]"
    raise _Unusual


def _quoted(text: str) -> str:
    """As JSON writes it. Of what is escaped nearly all text has three characters only; replacing these and looking
    whether any other is left takes half of the time that a look at each one takes.
    """
    escaped = text
    if "\\" in escaped:
        escaped = escaped.replace("\\", "\\\\")
    if '"' in escaped:
        escaped = escaped.replace('"', '\\"')
    if "\n" in escaped:
        escaped = escaped.replace("\n", "\\n")
    return f'"{escaped}"' if escaped.isprintable() else encode_basestring(text)


class _Writer:
    def __init__(self) -> None:
        self.keys: list[str | int] = []

    def pieces(self, tree: Writable) -> list[str]:
        """The text of a value that holds others, in pieces, by an own stack: depth never meets the interpreter's."""
        out: list[str] = []
        put, keys = out.append, self.keys
        around: list[tuple[Iterator[tuple[str | int, Writable]], bool]] = []
        value = tree
        while True:
            is_object, is_first = type(value) is dict, True
            items = self._items(value)
            put("{" if is_object else "[")
            keys.append("")
            if len(keys) > MOST_WRITABLE_DEPTH:
                raise self._refusal(
                    "too_deep", f"The value is nested more than {MOST_WRITABLE_DEPTH} levels deep."
                )
            while True:
                # Most values hold no others: they are written in this loop, and nothing is put on the stack.
                for key, value in items:
                    keys[-1] = key
                    if is_first:
                        is_first = False
                    else:
                        put(",")
                    if is_object:
                        put(self._string(str(key), "key"))
                        put(":")
                    kind = type(value)
                    if kind is Number:
                        put(value.literal)
                    elif kind is dict or kind is list:
                        break
                    else:
                        put(self.scalar(value))
                else:
                    put("}" if is_object else "]")
                    keys.pop()
                    if not around:
                        return out
                    items, is_object = around.pop()
                    is_first = False
                    continue
                break
            around.append((items, is_object))

    def _items(self, value: Writable) -> Iterator[tuple[str | int, Writable]]:
        if type(value) is list:
            return iter(enumerate(value))
        for key in value:
            if type(key) is not str:
                raise self._refusal("invalid", f"The key {key!a:.60} is not text.")
        return iter(sorted(value.items()))

    def scalar(self, value: Writable) -> str:
        """The text of a value that holds no others."""
        kind = type(value)
        if kind is str:
            return self._string(value, "text")
        if value is None:
            return "null"
        if kind is bool:
            return "true" if value else "false"
        if kind is Number:
            return str(value.literal)
        if kind is int:
            return self._literal(int.__repr__(value))
        if kind is float or kind is Decimal:
            if not math.isfinite(value):
                raise self._refusal("not_a_number", f"{value} is not a JSON number.")
            return self._literal(repr(value) if kind is float else str(value))
        raise self._refusal("invalid", f"A value of type {kind.__qualname__} is not JSON; convert it first.")

    def _literal(self, literal: str) -> str:
        try:
            return Number(literal).literal
        except ValueError as error:
            raise self._refusal("invalid", str(error)) from error

    def _string(self, text: str, what: str) -> str:
        if not is_safe(text) and (found := unsafe(text)) is not None:
            raise self._refusal("invalid", unsafe_message(found, what=what))
        return _quoted(text)

    def _refusal(self, code: str, message: str) -> BadJson:
        return BadJson([Fault(path=pointer(self.keys), code=code, message=message)])
