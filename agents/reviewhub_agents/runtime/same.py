"""Whether a state came back as it was: value by value, with the types."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
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
        if type(one) is not type(other):
            return _sentence(keys, one, f"of type {_name(other)}")
        inner = _inside(one, other)
        if inner is None:
            if not _equal(one, other):
                return _sentence(keys, one, "another value")
            continue
        for key, a, b in inner:
            if a is b or (type(a) is type(b) and type(a) in _PLAIN and a == b):
                continue
            if a is _MISSING or b is _MISSING:
                return _sentence([*keys, _said(key)], one if a is _MISSING else a, "missing or new")
            todo.append(([*keys, _said(key)], a, b))
    return None


_MISSING = object()
_PLAIN = frozenset({str, int})


def _inside(one: Any, other: Any) -> Iterable[tuple[Any, Any, Any]] | None:
    """The parts of two values of one type, side by side; None for a value without parts."""
    if isinstance(one, dict):
        return _paired(one, other)
    if isinstance(one, list | tuple | deque):
        return [(at, a, b) for at, (a, b) in enumerate(zip_longest(one, other, fillvalue=_MISSING))]
    if isinstance(one, BaseModel):
        names = _kept(type(one))
        both = [
            (name, one.__dict__.get(name, _MISSING), other.__dict__.get(name, _MISSING)) for name in names
        ]
        return [*both, *_paired(one.__pydantic_extra__ or {}, other.__pydantic_extra__ or {})]
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in dataclasses.fields(one)]
        return [(name, getattr(one, name, _MISSING), getattr(other, name, _MISSING)) for name in names]
    return None


@lru_cache(maxsize=1024)
def _kept(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if not field.exclude]


def _paired(one: dict[Any, Any], other: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key, value in one.items():
        yield key, value, other.get(key, _MISSING)
    if one.keys() != other.keys():
        yield from ((key, _MISSING, other[key]) for key in other.keys() - one.keys())
    if not all(type(key) is str for key in one):
        # Keys equal one another across types (1, True, 1.0), so they are values to compare, too.
        theirs = {key: key for key in other}
        yield from ((key, key, theirs[key]) for key in one if key in theirs)


def _said(key: Any) -> str | int:
    return key if type(key) is str or type(key) is int else repr(key)


def _equal(one: Any, other: Any) -> bool:
    if type(one) in _PLAIN:
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
