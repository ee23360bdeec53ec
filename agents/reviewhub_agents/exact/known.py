"""The types that a reader or a writer knows, by the names under which their values are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel


def qualified(kind: type) -> str:
    """The name of a type with its module and whatever it is nested in: ``shop.orders.Order.Colour``."""
    return f"{kind.__module__}.{kind.__qualname__}"


def is_named_tuple(kind: type) -> bool:
    """Whether `kind` was made by `namedtuple` or `NamedTuple`."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_object(kind: type) -> bool:
    """Whether values of `kind` are kept field by field: named tuples, dataclasses, pydantic models."""
    return is_named_tuple(kind) or dataclasses.is_dataclass(kind) or issubclass(kind, BaseModel)


class Types:
    """Enums, named tuples, dataclasses and pydantic models, by name.

    Given as a mapping, the names are the keys: so values outlive the move of a class to another module. Two names may
    lead to one type; it is written under the first.
    """

    def __init__(self, types: Iterable[type] | Mapping[str, type] | Types = ()) -> None:
        """Raises TypeError for a type whose values cannot be kept, ValueError for two types of one name."""
        self._by_name: dict[str, type[Any]] = {}
        self._names: dict[type[Any], str] = {}
        if isinstance(types, Types):
            self._by_name, self._names = types._by_name, types._names
            return
        named = types.items() if isinstance(types, Mapping) else [(qualified(kind), kind) for kind in types]
        for name, kind in named:
            if not (isinstance(kind, type) and (issubclass(kind, Enum) or is_object(kind))):
                raise TypeError(f"{kind!r:.100} is no enum, named tuple, dataclass or pydantic model.")
            if self._by_name.setdefault(name, kind) is not kind:
                raise ValueError(f"Two types are called {name}.")
            self._names.setdefault(kind, name)

    def named(self, name: str) -> type[Any] | None:
        """The type of that name, if it was given."""
        return self._by_name.get(name)

    def name_of(self, kind: type) -> str | None:
        """The name under which `kind` is written, if it was given."""
        return self._names.get(kind)
