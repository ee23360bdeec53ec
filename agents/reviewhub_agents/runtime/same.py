"""Whether a state came back as it was: value by value, with the types."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel

from reviewhub_agents import canonical, exact
from reviewhub_agents.exact.packing import same

_Pair = tuple[list[str | int], Any, Any]


def difference(before: Any, after: Any) -> str | None:
    """Where and how `after` differs from `before`, in a sentence; None when it does not.

    Fields that a model excludes and private attributes are none of a state.
    """
    todo: list[_Pair] = [([], before, after)]
    while todo:
        keys, one, other = todo.pop()
        if one is other:
            continue
        if type(one) is not type(other):
            return _sentence(keys, one, f"of type {_name(other)}")
        inner = _inside(one, other)
        if inner is None:
            if not _equal(one, other):
                return _sentence(keys, one, "another value")
            continue
        for key, a, b in inner:
            if a is _MISSING or b is _MISSING:
                return _sentence([*keys, key], one if a is _MISSING else a, "missing or new")
            todo.append(([*keys, key], a, b))
    return None


_MISSING = object()


def _inside(one: Any, other: Any) -> list[tuple[str | int, Any, Any]] | None:
    """The parts of two values of one type, side by side; None for a value without parts."""
    if isinstance(one, BaseModel):
        return list(_paired(_fields(one), _fields(other)))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in dataclasses.fields(one)]
        return [(name, getattr(one, name, _MISSING), getattr(other, name, _MISSING)) for name in names]
    if isinstance(one, dict):
        return list(_paired(one, other))
    if isinstance(one, list | tuple | deque):
        return [(at, a, b) for at, (a, b) in enumerate(zip_longest(one, other, fillvalue=_MISSING))]
    return None


def _fields(model: BaseModel) -> dict[str, Any]:
    kept = {
        name: value
        for name, value in model.__dict__.items()
        if (field := type(model).model_fields.get(name)) is not None and not field.exclude
    }
    return kept | (model.__pydantic_extra__ or {})


def _paired(one: dict[Any, Any], other: dict[Any, Any]) -> Iterator[tuple[str | int, Any, Any]]:
    # Keys equal one another across types (1, True, 1.0), so they are compared as they are found, in order.
    theirs = {key: key for key in other}
    for key, value in one.items():
        name = key if type(key) in (str, int) else repr(key)
        yield name, value, other.get(key, _MISSING)
        if theirs.get(key, key) is not key:
            yield name, key, theirs.get(key, key)
    for key in other.keys() - one.keys():
        yield key if type(key) in (str, int) else repr(key), _MISSING, other[key]


def _equal(one: Any, other: Any) -> bool:
    if type(one) is str or type(one) is int or one is None:
        return bool(one == other)
    if type(one) is float:
        signs = math.copysign(1, one) == math.copysign(1, other)
        return (one == other and signs) or (math.isnan(one) and math.isnan(other))
    return same(one, other)


def _name(value: Any) -> str:
    return value.kind if isinstance(value, exact.Unread) else f"{exact.qualified(type(value))}"


def _sentence(keys: list[str | int], value: Any, said: str) -> str:
    return (
        f"{canonical.pointer(keys) or 'the whole state'}: "
        f"A value of type {exact.qualified(type(value))} would come back {said}."
    )
