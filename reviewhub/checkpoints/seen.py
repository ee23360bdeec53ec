"""A state as its schema sees it. Pure.

Of the marks of exact values (docs/exact-values.md) three are only ways to write what JSON has a type for: text that
JSON text cannot hold, integers of any length, and the floats that JSON lacks. A schema sees them as text and numbers,
so that `string` and `number` mean what they mean in the agent's code. Every other mark is the object that it is.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from reviewhub_agents import canonical, exact
from reviewhub_agents.canonical import Number, Tree

MAX_INTEGER_DIGITS = 5_000
"""Hex digits of an integer that is looked at as a number; one with more stays an object."""
_HEX = re.compile(r"-?[0-9a-f]+")
_FLOATS = frozenset({"NaN", "Infinity", "-Infinity"})


def seen(tree: Tree) -> Any:
    """`tree` with a Decimal for each number, and what three marks stand for in their places."""
    if isinstance(tree, Number):
        return Decimal(tree.literal)
    if isinstance(tree, list):
        return [seen(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    found = _plain(tree) if exact.MARK in tree else None
    return {name: seen(value) for name, value in tree.items()} if found is None else found


def seen_whole(tree: Tree) -> Any:
    """The same for a whole state, which is an object whatever it is marked as, as when its fields are looked at."""
    return {name: seen(value) for name, value in tree.items()} if isinstance(tree, dict) else seen(tree)


def _plain(tree: dict[str, Tree]) -> str | Decimal | None:
    """What a mark of the three stands for; None for any other, and for one that is not as it should be."""
    kind, value = tree[exact.MARK], tree.get("value")
    if not isinstance(value, str):
        return None
    if kind == "integer" and len(value) <= MAX_INTEGER_DIGITS and _HEX.fullmatch(value):
        return Decimal(int(value, 16))
    if kind == "float" and value in _FLOATS:
        return Decimal(value)
    if kind != "text":
        return None
    try:
        text = exact.unpack(tree)
    except canonical.BadJson:
        return None
    return text if isinstance(text, str) else None
