"""From a tree to ordinary Python values, for code that computes instead of keeping."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from .values import Number, Tree


def to_python(tree: Tree) -> Any:
    """`tree` with an int for each integer literal and a Decimal for every other number: the same values."""
    return _convert(tree, Number.to_python)


def plain(tree: Tree) -> Any:
    """`tree` with ints and, where a float's shortest text has exactly the literal's value, floats; else
    Decimal.

    For code that expects what `json.loads` gives: ``0.10`` becomes ``0.1``, but ``0.1000000000000000000001``
    a Decimal instead of another number.
    """
    return _convert(tree, _plain_number)


def _plain_number(number: Number) -> int | float | Decimal:
    exact = number.to_python()
    if isinstance(exact, int):
        return exact
    near = float(exact)
    return near if Decimal(repr(near)) == exact else exact


def _convert(tree: Tree, number: Callable[[Number], int | float | Decimal]) -> Any:
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Tree]] = [(root, 0, tree)]
    while todo:
        parent, key, value = todo.pop()
        if isinstance(value, Number):
            parent[key] = number(value)
        elif isinstance(value, dict):
            # Keys are set in order first: the copy keeps the order, whatever order the work is done in.
            parent[key] = copy = dict.fromkeys(value)
            todo.extend((copy, name, item) for name, item in value.items())
        elif isinstance(value, list):
            parent[key] = items = [None] * len(value)
            todo.extend((items, index, item) for index, item in enumerate(value))
        else:
            parent[key] = value
    return root[0]
