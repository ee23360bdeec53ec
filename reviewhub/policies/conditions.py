"""Simple tests of a call's arguments. Each says yes, no, or that it cannot be decided, which means approval. Pure.

Texts are compared so that spelling a value another way slips past nothing: a rule that holds back takes what reads
like the text it names, a rule that lets run takes the exact text only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from time import thread_time
from typing import Any

from reviewhub_agents.canonical import Number

from reviewhub.policies.arguments import MISSING, Arguments, Inexact, number
from reviewhub.policies.model import NUMBER_TESTS, PRESENCE_TESTS, TEXT_TESTS, Condition, Value
from reviewhub.policies.readings import Readings, TooLong, folded_value

TOO_SLOW = "the conditions on this call take too long"
_MONEY = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_KINDS = {str: "a text", bool: "true or false", Number: "a number", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Tested:
    """`holds` None: it cannot be decided. `why` is for people."""

    holds: bool | None
    why: str


def test(condition: Condition, arguments: Arguments, *, lets_run: bool) -> Tested:
    """What a condition says to these arguments; never raises for what they may be."""
    if arguments.is_spent:
        return Tested(None, TOO_SLOW)
    began = thread_time()
    try:
        given = arguments.at(condition.path)
        return tested(condition, given, lets_run=lets_run, readings=arguments.readings)
    finally:
        arguments.spend(began)


def tested(condition: Condition, given: Any, *, lets_run: bool, readings: Readings) -> Tested:
    """What a condition says to one value, as `Arguments.at` gives it; `readings` are those of its call."""
    path, name = condition.path, condition.test
    if name in PRESENCE_TESTS:
        there = given is not MISSING
        return Tested(there == (name == "is_there"), f"{path} is {'there' if there else 'missing'}")
    if given is MISSING or given is None:
        return Tested(None, f"{path} is {'missing' if given is MISSING else 'null'}")
    try:
        holds = _compare(condition, given, lets_run, readings)
    except _Undecided as undecided:
        return Tested(None, f"{path} is {undecided}")
    except TooLong as too_long:
        return Tested(None, f"{path} has {too_long}")
    except Inexact as inexact:
        return Tested(None, f"{path}: {inexact}")
    return Tested(holds, str(condition) if holds else f"not: {condition}")


class _Undecided(Exception):
    pass


def _compare(condition: Condition, given: Any, lets_run: bool, readings: Readings) -> bool:
    name, value = condition.test, condition.value
    if name in NUMBER_TESTS:
        return _NUMBERS[name](_decimal(given), Decimal(repr(value)))
    negative = name in ("contains_not", "is_not", "is_none_of")
    folding = readings if lets_run == negative else None
    if name in TEXT_TESTS:
        return _text_test("contains" if negative else name, given, str(value), folding) != negative
    wanted: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    equal = [_equal(given, one, folding) for one in wanted]
    if True in equal:
        return not negative
    if all(one is None for one in equal):
        raise _Undecided(f"{_KINDS[type(given)]}, and {_KINDS.get(type(wanted[0]), 'a number')} is expected")
    return negative


def amount_at(arguments: Arguments, path: str) -> Decimal | str:
    """The number at a path exactly, or why there is none that everybody reads the same."""
    given = arguments.at(path)
    if given is MISSING or given is None:
        return f"{path} is {'missing' if given is MISSING else 'null'}"
    try:
        return _decimal(given)
    except _Undecided as undecided:
        return f"{path} is {undecided}"
    except Inexact as inexact:
        return f"{path}: {inexact}"


_NUMBERS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "is_over": lambda given, value: given > value,
    "is_at_least": lambda given, value: given >= value,
    "is_under": lambda given, value: given < value,
    "is_at_most": lambda given, value: given <= value,
}


def amount_of(given: Any) -> Decimal | None:
    """The number that the tests for numbers see in a value; None where they see none."""
    try:
        return _decimal(given)
    except (Inexact, _Undecided):
        return None


def _decimal(given: Any) -> Decimal:
    """A number, or a text that is nothing but a decimal number, as amounts of money should be sent."""
    if isinstance(given, Number):
        return Decimal(repr(number(given)))
    if isinstance(given, str) and _MONEY.fullmatch(given):
        return Decimal(given)
    raise _Undecided(f"{_KINDS[type(given)]}, and a number is expected")


def _equal(given: Any, wanted: Value, folding: Readings | None) -> bool | None:
    """Whether two values are the same; None if they are of different types."""
    if isinstance(wanted, bool):
        return given == wanted if isinstance(given, bool) else None
    if isinstance(wanted, str):
        return _text_test("is", given, wanted, folding) if isinstance(given, str) else None
    return Decimal(repr(number(given))) == Decimal(repr(wanted)) if isinstance(given, Number) else None


def _text_test(name: str, given: Any, wanted: str, folding: Readings | None) -> bool:
    """Whether a text, or an item of a list of texts, passes; with `folding` also by how it reads. Raises TooLong."""
    if name == "contains" and isinstance(given, list):
        if not all(isinstance(one, str) for one in given):
            raise _Undecided("a list of other things than texts")
        return _is_item(given, wanted, folding)
    if not isinstance(given, str):
        raise _Undecided(f"{_KINDS[type(given)]}, and a text is expected")
    if _TEXTS[name](given, wanted):
        return True
    if folding is None:
        return False
    read = zip(folding.of_text(given), folded_value(wanted), strict=True)
    # What folds to nothing, such as a space, is compared as it is only.
    return any(one and _TEXTS[name](text, one) for text, one in read)


def _is_item(given: list[str], wanted: str, folding: Readings | None) -> bool:
    if folding is None:
        return wanted in given
    items = folding.of_list(given)
    case, look = folded_value(wanted)
    if wanted in items.as_they_are or (case and case in items.by_case) or (look and look in items.by_look):
        return True
    if items.left_out:
        raise TooLong(items.left_out)
    return False


_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "is": lambda given, value: given == value,
    "contains": lambda given, value: value in given,
    "starts_with": lambda given, value: given.startswith(value),
    "ends_with": lambda given, value: given.endswith(value),
}
