"""Which calls of a tool people always approve, by the size of one of its arguments. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reviewhub.policies.conditions import amount_of
from reviewhub.policies.model import Condition

FEWEST = 20
"""So many approvals, and nothing else, are worth a rule."""
MOST_PATHS = 20


@dataclass(frozen=True)
class Decided:
    """A call that people decided: whether they approved it as it was, and its numbers by path."""

    approved: bool
    numbers: dict[str, Decimal]


@dataclass(frozen=True)
class Bounds:
    """Conditions under which every call was approved, and how many there were. `words`: the conditions in short."""

    when: tuple[Condition, ...]
    count: int
    words: str = ""


def bounds(decided: Sequence[Decided]) -> Bounds | None:
    """The widest conditions under which people approved every call that they decided; None where it were too few.

    Nothing that nobody has seen is in them: the smallest approved value is a bound, too.
    """
    paths = set.intersection(*(set(one.numbers) for one in decided)) if decided else set()
    found = [one for path in sorted(paths)[:MOST_PATHS] if (one := _by_size(path, decided))]
    if found:
        return max(found, key=lambda one: one.count)
    if not paths and len(decided) >= FEWEST and all(one.approved for one in decided):
        return Bounds((), len(decided))
    return None


def _by_size(path: str, decided: Sequence[Decided]) -> Bounds | None:
    refused = min((one.numbers[path] for one in decided if not one.approved), default=None)
    good = [
        one.numbers[path]
        for one in decided
        if one.approved and (refused is None or one.numbers[path] < refused)
    ]
    if len(good) < FEWEST:
        return None
    low = Condition(path=path, test="is_at_least", value=_number(min(good)))
    if refused is None:
        high = Condition(path=path, test="is_at_most", value=_number(max(good)))
        return Bounds((low, high), len(good), f"with {path} at most {max(good)}")
    high = Condition(path=path, test="is_under", value=_number(refused))
    return Bounds((low, high), len(good), f"with {path} under {refused}")


def numbers_of(tree: Any, path: str = "") -> dict[str, Decimal]:
    """The numbers in arguments by the path that conditions take; lists are left out, since they vary in length."""
    return dict(_numbers(tree, path))


def _numbers(tree: Any, path: str) -> Iterator[tuple[str, Decimal]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key and "." not in key and key.isprintable() and len(path) + len(key) < 200:
                yield from _numbers(value, f"{path}.{key}".lstrip("."))
    elif path and tree is not None:
        amount = amount_of(tree)
        # A bound has to be that very number.
        if amount is not None and Decimal(repr(_number(amount))) == amount:
            yield path, amount


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)
