"""From a Python call to JSON arguments, and from the granted arguments back to a Python call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from reviewhub_agents.canonical import Number, Tree, dumps, plain

_KINDS = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)


class Signature:
    """How one function's arguments are named."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Raises TypeError for a function with arguments that have no name."""
        self._signature = inspect.signature(function)
        for parameter in self._signature.parameters.values():
            if parameter.kind not in _KINDS:
                raise TypeError(
                    f"{function.__qualname__}: the argument {parameter} has no name reviewers could see."
                )
        self._rest = next(
            (name for name, item in self._signature.parameters.items() if item.kind is item.VAR_KEYWORD), None
        )

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, defaults included. Raises TypeError as the call itself would."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        return named | named.pop(self._rest) if self._rest is not None else named


def restored(proposed: Mapping[str, Any], granted: Mapping[str, Tree]) -> dict[str, Any]:
    """The granted arguments as Python values: what nobody edited is the very value that was proposed."""
    return {
        name: proposed[name]
        if name in proposed and dumps(proposed[name]) == dumps(tree)
        else _like(proposed.get(name), tree)
        for name, tree in granted.items()
    }


def _like(before: Any, tree: Tree) -> Any:
    """An edited value: a Decimal where one was proposed, else what reading JSON usually gives, exact in any case."""
    if isinstance(tree, Number) and isinstance(before, Decimal):
        return Decimal(tree.literal)
    return plain(tree)
