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
from reviewhub.policies.names import fold_case, fold_look

MOST_FOLDED = 4000
"""The longest text, in characters, that is compared by how it reads, unless it is plain ASCII."""
TOO_SLOW = "the conditions on this call take too long"
_MONEY = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_ODD = dict.fromkeys([*range(0x21), 0x7F])
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
        return tested(condition, arguments.at(condition.path), lets_run=lets_run)
    finally:
        arguments.spend(began)


def tested(condition: Condition, given: Any, *, lets_run: bool) -> Tested:
    """What a condition says to one value, as `Arguments.at` gives it."""
    path, name = condition.path, condition.test
    if name in PRESENCE_TESTS:
        there = given is not MISSING
        return Tested(there == (name == "is_there"), f"{path} is {'there' if there else 'missing'}")
    if given is MISSING or given is None:
        return Tested(None, f"{path} is {'missing' if given is MISSING else 'null'}")
    try:
        holds = _compare(condition, given, lets_run)
    except _Undecided as undecided:
        return Tested(None, f"{path} is {undecided}")
    except Inexact as inexact:
        return Tested(None, f"{path}: {inexact}")
    return Tested(holds, str(condition) if holds else f"not: {condition}")


class _Undecided(Exception):
    pass


def _compare(condition: Condition, given: Any, lets_run: bool) -> bool:
    name, value = condition.test, condition.value
    if name in NUMBER_TESTS:
        return _NUMBERS[name](_decimal(given), Decimal(repr(value)))
    if name in TEXT_TESTS:
        negative = name == "contains_not"
        found = _text_test("contains" if negative else name, given, str(value), folds=lets_run == negative)
        return found != negative
    negative = name in ("is_not", "is_none_of")
    wanted: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    equal = [_equal(given, one, folds=lets_run == negative) for one in wanted]
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


def _equal(given: Any, wanted: Value, *, folds: bool) -> bool | None:
    """Whether two values are the same; None if they are of different types."""
    if isinstance(wanted, bool):
        return given == wanted if isinstance(given, bool) else None
    if isinstance(wanted, str):
        return _text_test("is", given, wanted, folds=folds) if isinstance(given, str) else None
    return Decimal(repr(number(given))) == Decimal(repr(wanted)) if isinstance(given, Number) else None


def _text_test(name: str, given: Any, wanted: str, *, folds: bool) -> bool:
    if name == "contains" and isinstance(given, list):
        if not all(isinstance(one, str) for one in given):
            raise _Undecided("a list of other things than texts")
        return any(_text_test("is", one, wanted, folds=folds) for one in given)
    if not isinstance(given, str):
        raise _Undecided(f"{_KINDS[type(given)]}, and a text is expected")
    if _TEXTS[name](given, wanted):
        return True
    if not folds:
        return False
    if len(given) > MOST_FOLDED and not given.isascii():
        raise _Undecided(f"a text of more than {MOST_FOLDED} characters in other letters than plain ones")
    for fold in (fold_case.__wrapped__, fold_look.__wrapped__):
        # What folds to nothing, such as a space, is compared as it is only.
        read = fold(wanted)
        if read and _TEXTS[name](_fold_plain(given) if given.isascii() else fold(given), read):
            return True
    return False


def _fold_plain(text: str) -> str:
    """What `fold_case` and `fold_look` make of plain ASCII, for texts of any length."""
    return text.translate(_ODD).lower()


_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "is": lambda given, value: given == value,
    "contains": lambda given, value: value in given,
    "starts_with": lambda given, value: given.startswith(value),
    "ends_with": lambda given, value: given.endswith(value),
}
