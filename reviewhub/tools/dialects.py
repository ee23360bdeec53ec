"""The drafts of JSON Schema that tools may use, as validators with a budget. Pure.

The library's validators do the work. Replaced are the keywords that would run a pattern in a backtracking engine,
compare numbers as floats, or compare every item with every other; and each keyword pays for what it looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # ships no types
from jsonschema import Draft6Validator, Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from reviewhub_agents.canonical import Number, Tree

MAX_PATTERN_CHARS = 1000
_Keyword = Callable[[Any, Any, Any, Mapping[str, Any]], Iterator[ValidationError]]
_DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "http://json-schema.org/draft-07/schema": Draft7Validator,
    "http://json-schema.org/draft-06/schema": Draft6Validator,
}
_LATEST = "https://json-schema.org/draft/2020-12/schema"


class Exhausted(Exception):
    """A check took more steps than it may."""


class Budget:
    """How many steps are left. A step is a keyword looked at, or one of many values that a keyword looks at."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Takes `steps` away. Raises Exhausted when there were not so many."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted


_budget: ContextVar[Budget] = ContextVar("_budget")


@contextmanager
def running(budget: Budget) -> Iterator[None]:
    """Lets the validators inside the block spend `budget`."""
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


class _Quiet:
    """A value whose repr is short: the library puts the repr of what it looks at into each message it makes."""

    def __repr__(self) -> str:
        return "…"


class _Object(_Quiet, dict[str, Any]):
    __slots__ = ()


class _Array(_Quiet, list[Any]):
    __slots__ = ()


class _Text(_Quiet, str):
    __slots__ = ()


def quiet(tree: Tree) -> Any:
    """`tree` as validators read it: exact decimals for numbers, and nothing whose repr is long."""
    if isinstance(tree, dict):
        return _Object((_Text(name), quiet(value)) for name, value in tree.items())
    if isinstance(tree, list):
        return _Array(quiet(value) for value in tree)
    if isinstance(tree, Number):
        return Decimal(tree.literal)
    return _Text(tree) if isinstance(tree, str) else tree


def known_drafts() -> list[str]:
    """The values of `$schema` that are understood."""
    return list(_DRAFTS)


def dialect_of(schema: Mapping[str, Any]) -> Any:
    """The validator class for the `$schema` of a schema that was checked; the latest draft if it names none."""
    return _dialect(str(schema.get("$schema", _LATEST)).removesuffix("#"))


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """`text` compiled by the linear-time engine. Raises ValueError with a sentence if it is too long or refused."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"the pattern has {len(text)} characters; the limit is {MAX_PATTERN_CHARS}")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return re2.compile(str(text), options)
    except re2.error as error:
        raise ValueError(f"the pattern cannot be used: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


@lru_cache
def _dialect(draft: str) -> Any:
    base: Any = _DRAFTS[draft]
    keywords = {**base.VALIDATORS, **{name: own for name, own in _OWN.items() if name in base.VALIDATORS}}
    checker = base.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    metered = {name: _metered(name, keyword) for name, keyword in keywords.items()}
    return extend(base, metered, type_checker=checker)  # type: ignore[no-untyped-call]


def _metered(name: str, keyword: _Keyword) -> _Keyword:
    def with_meter(
        validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        _budget.get().spend(_price(name, value, instance))
        yield from keyword(validator, value, instance, schema) or ()

    return with_meter


_PER_MEMBER = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "items",
        "patternProperties",
        "prefixItems",
        "propertyNames",
    }
)


def _price(name: str, value: Any, instance: Any) -> int:
    """Steps for one keyword, beside those for the keywords that it leads to."""
    price = 1
    if name in _PER_MEMBER and isinstance(instance, dict | list):
        price += len(instance)
    elif name == "pattern" and isinstance(instance, str):
        price += len(instance) // 1000
    elif isinstance(value, dict | list):
        # Lists of names, constants and members cost little each, but a schema may hold tens of thousands.
        price += len(value) // 10
    return price


def _is_number(checker: Any, instance: object) -> bool:
    return isinstance(instance, Decimal)


def _is_integer(checker: Any, instance: object) -> bool:
    return isinstance(instance, Decimal) and instance.as_integer_ratio()[1] == 1


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield ValidationError("required", path=[name])


def _pattern(validator: Any, text: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not pattern(text).search(instance):
        yield ValidationError("pattern")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for text, subschema in patterns.items():
        _budget.get().spend(len(instance))
        for name, value in instance.items():
            if pattern(text).search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=text)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    _budget.get().spend(len(instance) * len(patterns))
    for name, value in instance.items():
        if name in named or any(pattern(text).search(name) for text in patterns):
            continue
        if allowed is False:
            yield ValidationError("additionalProperties", path=[name])
        else:
            yield from validator.descend(value, allowed, path=name)


def _multiple_of(validator: Any, divisor: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, Decimal):
        _budget.get().spend(20)  # fractions of a thousand digits are exact and not cheap
        if (Fraction(instance) / Fraction(divisor)).denominator != 1:
            yield ValidationError("multipleOf")


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not (unique and isinstance(instance, list)):
        return
    seen: dict[Any, int] = {}
    for position, item in enumerate(instance):
        key = _comparable(item)
        if key in seen:
            yield ValidationError("uniqueItems", path=[position])
            return
        seen[key] = position


def _comparable(item: Any) -> Any:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    _budget.get().spend(1)
    if isinstance(item, dict):
        return "object", frozenset((name, _comparable(value)) for name, value in item.items())
    if isinstance(item, list):
        return "array", tuple(_comparable(value) for value in item)
    return type(item).__name__, item


_OWN: dict[str, _Keyword] = {
    "required": _required,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "uniqueItems": _unique_items,
}
