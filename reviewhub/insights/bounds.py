"""Which calls of a tool people always approve, by the size of one argument or by what another one says. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from reviewhub.policies.conditions import amount_of
from reviewhub.policies.model import Condition

FEWEST = 20
"""So many approvals, and nothing else, are worth a rule."""
FEWEST_EACH = 3
"""So often a text has to be approved to be one that people know."""
MOST_PATHS = 20
MOST_VALUES = 5
MOST_MORE = 5
MOST_CHARACTERS = 100
_NAMES = "ids?|nr|no|num|number|code|key|ref|reference|zip|phone|account|iban"
_ID = re.compile(rf"(?:^|[._-])(?i:{_NAMES})$|[a-z](?:Ids?|Nr|No|Num|Number|Code|Key|Ref|Zip|Phone|Account)$")


@dataclass(frozen=True)
class Decided:
    """A call that people decided: whether they approved it as it was, its numbers and its texts by path."""

    approved: bool
    numbers: dict[str, Decimal]
    texts: dict[str, str | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Bounds:
    """Conditions under which every call was approved, and how many there were. `words`: the conditions in short."""

    when: tuple[Condition, ...]
    count: int
    words: str = ""


@dataclass(frozen=True)
class _Found:
    """Bounds by one path, and the approved calls that are within them."""

    bounds: Bounds
    within: list[Decided]
    path: str = ""


def bounds(decided: Sequence[Decided]) -> Bounds | None:
    """The widest conditions under which people approved every call that they decided; None where it were too few.

    Nothing that nobody has seen is in them: the smallest approved value is a bound, too, and where an argument had a
    few texts only, it has to have one of them.
    """
    paths = _common([one.numbers for one in decided])
    found = [one for path in paths if (one := _by_size(path, decided))]
    if not all(one.approved for one in decided):
        found += [
            one for path in _common([one.texts for one in decided]) if (one := _by_choice(path, decided))
        ]
    elif not paths and len(decided) >= FEWEST:
        found.append(_Found(Bounds((), len(decided)), list(decided)))
    return _narrowed(max(found, key=lambda one: one.bounds.count)) if found else None


def _common(given: Sequence[dict[str, Any]]) -> list[str]:
    """The paths that all calls have."""
    return sorted(set.intersection(*map(set, given)))[:MOST_PATHS] if given else []


def _by_size(path: str, decided: Sequence[Decided]) -> _Found | None:
    refused = min((one.numbers[path] for one in decided if not one.approved), default=None)
    within = [one for one in decided if one.approved and (refused is None or one.numbers[path] < refused)]
    if len(within) < FEWEST:
        return None
    sizes = [one.numbers[path] for one in within]
    low = Condition(path=path, test="is_at_least", value=_number(min(sizes)))
    if refused is None:
        high = Condition(path=path, test="is_at_most", value=_number(max(sizes)))
        words = f"with {path} at most {max(sizes)}"
    else:
        high = Condition(path=path, test="is_under", value=_number(refused))
        words = f"with {path} under {refused}"
    return _Found(Bounds((low, high), len(within), words), within, path)


def _by_choice(path: str, decided: Sequence[Decided]) -> _Found | None:
    """Where the texts that were approved are others than those that were not."""
    refused = {one.texts[path] for one in decided if not one.approved}
    counts = Counter(one.texts[path] for one in decided if one.approved and one.texts[path] not in refused)
    known = sorted((value for value, many in counts.items() if many >= FEWEST_EACH), key=str)
    within = [one for one in decided if one.approved and one.texts[path] in known]
    if len(within) < FEWEST or len(known) > MOST_VALUES:
        return None
    return _Found(Bounds((_is(path, known),), len(within), f"with {path} {_or(known)}"), within, path)


def _narrowed(found: _Found) -> Bounds:
    """The bounds, with the few texts that other arguments had in every call within them."""
    more: list[Condition] = []
    said = found.bounds.words
    for path in _common([one.texts for one in found.within]):
        counts = Counter(one.texts[path] for one in found.within)
        if path == found.path or len(counts) > MOST_VALUES or min(counts.values()) < FEWEST_EACH:
            continue
        values = sorted(counts, key=str)
        more.append(_is(path, values))
        said = f"{said} and {path} {_or(values)}" if said else f"with {path} {_or(values)}"
        if len(more) == MOST_MORE:
            break
    return replace(found.bounds, when=(*found.bounds.when, *more), words=said)


def _is(path: str, values: Sequence[str | bool]) -> Condition:
    if len(values) == 1:
        return Condition(path=path, test="is", value=values[0])
    return Condition(path=path, test="is_one_of", value=tuple(values))


def _or(values: Sequence[str | bool]) -> str:
    return " or ".join(str(value).lower() if isinstance(value, bool) else value for value in values)


def numbers_of(tree: Any) -> dict[str, Decimal]:
    """The numbers in arguments by the path that conditions take: sizes, and no names that are written in digits.

    Lists are left out, since they vary in length; a text is a size where it has decimals, as amounts of money have.
    """
    return {
        path: amount
        for path, value in _leaves(tree, "")
        if not _ID.search(path) and (not isinstance(value, str) or "." in value)
        # A bound has to be that very number.
        and (amount := amount_of(value)) is not None and Decimal(repr(_number(amount))) == amount
    }  # fmt: skip


def texts_of(tree: Any) -> dict[str, str | bool]:
    """The short texts in arguments, and what is true or false, by path; sizes are left to `numbers_of`."""
    sizes = numbers_of(tree)
    return {
        path: value
        for path, value in _leaves(tree, "")
        if path not in sizes
        and (
            isinstance(value, bool)
            or (isinstance(value, str) and value.isprintable() and len(value) <= MOST_CHARACTERS)
        )
    }


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key and "." not in key and key.isprintable() and len(path) + len(key) < 200:
                yield from _leaves(value, f"{path}.{key}".lstrip("."))
    elif path and tree is not None and not isinstance(tree, list):
        yield path, tree


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)
