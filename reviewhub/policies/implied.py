"""Whether one condition holds wherever another does: how rules are found that an earlier one hides. Pure.

A yes is certain, a no may be a yes that needs cleverness.
"""

from __future__ import annotations

from decimal import Decimal

from reviewhub.policies.model import NUMBER_TESTS, Condition, Value

_UPWARD = ("is_over", "is_at_least")
_WITH_EQUAL = ("is_at_least", "is_at_most")


def implied(wide: Condition, by: Condition, *, exactly: bool) -> bool:
    """Whether `wide` holds for every value for which `by` does.

    Args:
        exactly: both compare texts letter by letter, or `wide` does it as loosely as `by`.
    """
    if wide == by:
        return True
    if wide.path != by.path or by.test == "is_missing":
        return False
    if wide.test == "is_there":
        return True
    if wide.test in NUMBER_TESTS:
        return _number_implied(wide, by)
    return exactly and _text_implied(wide, by)


def _number_implied(wide: Condition, by: Condition) -> bool:
    bound = _number(wide.value)
    if by.test in ("is", "is_one_of"):
        values = by.value if isinstance(by.value, tuple) else (by.value,)
        return all(
            isinstance(one, int | float)
            and not isinstance(one, bool)
            and _fits(wide.test, _number(one), bound)
            for one in values
        )
    if by.test not in NUMBER_TESTS or (by.test in _UPWARD) != (wide.test in _UPWARD):
        return False
    given = _number(by.value)
    if given == bound:
        return wide.test in _WITH_EQUAL or by.test not in _WITH_EQUAL
    return given > bound if wide.test in _UPWARD else given < bound


def _text_implied(wide: Condition, by: Condition) -> bool:
    if wide.test == "is_one_of" and isinstance(wide.value, tuple):
        values = by.value if by.test == "is_one_of" else (by.value,) if by.test == "is" else None
        return isinstance(values, tuple) and all(_is_among(one, wide.value) for one in values)
    if not isinstance(wide.value, str) or not isinstance(by.value, str):
        return False
    if wide.test == "starts_with" and by.test in ("starts_with", "is"):
        return by.value.startswith(wide.value)
    if wide.test == "ends_with" and by.test in ("ends_with", "is"):
        return by.value.endswith(wide.value)
    # Not by `contains`: of a list it asks for one that is the text, not for one that holds it.
    return (
        wide.test == "contains" and by.test in ("starts_with", "ends_with", "is") and wide.value in by.value
    )


def _is_among(one: object, values: tuple[Value, ...]) -> bool:
    return any(type(one) is type(other) and one == other for other in values)


def _fits(test: str, given: Decimal, bound: Decimal) -> bool:
    if given == bound:
        return test in _WITH_EQUAL
    return given > bound if test in _UPWARD else given < bound


def _number(value: object) -> Decimal:
    return Decimal(repr(value))
