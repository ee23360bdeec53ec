"""Does a value fit a JSON Schema? An evaluator for schemas and values that nobody vouches for. Pure.

Drafts 6 to 2020-12, for schemas that `schema_check` has passed. It is written for what the common library cannot
promise: each look at a keyword or value is paid from a budget, so that no schema holds a process up; numbers are
decimals and never floats; patterns run in linear time; nothing is fetched. A test compares its answers with those
of the library on generated schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.schemas.patterns import pattern

Path = tuple[str | int, ...]
_Keyword = Callable[["Evaluation", Any, Any, Mapping[str, Any], Path, list["Fault"]], None]
_FAULTS_PER_FORM = 3


class Exhausted(Exception):
    """An evaluation took more steps than it may."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that does not fit. `forms` are, for `anyOf` and `oneOf`, the faults of each form in turn."""

    path: Path
    keyword: str
    expected: Any
    forms: tuple[tuple[Fault, ...], ...] = ()


def exact(tree: Tree) -> Any:
    """`tree` with a Decimal for each number, which is how schemas and values are compared here."""
    if isinstance(tree, dict):
        return {name: exact(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [exact(value) for value in tree]
    return Decimal(tree.literal) if isinstance(tree, Number) else tree


class Evaluation:
    """One evaluation with its budget.

    Args:
        targets: the part of the schema that each reference names.
        lonely_references: whether what stands beside a `$ref` is ignored, as it was up to draft 7.
        steps: the budget; a keyword or value looked at costs one.
    """

    def __init__(self, *, targets: Mapping[str, Any], lonely_references: bool, steps: int) -> None:
        self.targets = targets
        self.lonely_references = lonely_references
        self.left = steps

    def faults(self, schema: Any, value: Any, *, limit: int) -> list[Fault]:
        """At most about `limit` faults of `value`. Raises Exhausted, or RecursionError for what nests too deep."""
        found: list[Fault] = []
        self.run(schema, value, (), found, limit)
        return found[:limit]

    def spend(self, steps: int) -> None:
        """Takes steps from the budget. Raises Exhausted when there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether `value` has no fault."""
        found: list[Fault] = []
        self.run(schema, value, (), found, 1)
        return not found

    def run(self, schema: Any, value: Any, path: Path, found: list[Fault], limit: int = 1 << 30) -> None:
        """Adds the faults of `value` to `found` and stops once there are `limit`."""
        # Here and below as `spend` does it, without the call: this is what checking a large value consists of.
        self.left -= 1
        if self.left < 0:
            raise Exhausted
        if schema is True:
            return
        if schema is False:
            found.append(Fault(path, "not_allowed", None))
            return
        if self.lonely_references and "$ref" in schema:
            schema = {"$ref": schema["$ref"]}
        for name, expected in schema.items():
            keyword = _KEYWORDS.get(name)
            if keyword is not None:
                self.left -= 1
                if self.left < 0:
                    raise Exhausted
                keyword(self, expected, value, schema, path, found)
                if len(found) >= limit:
                    return

    def same(self, left: Any, right: Any) -> bool:
        """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
        self.spend(1)
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(self.same(left[name], right[name]) for name in left)
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(map(self.same, left, right))
        return type(left) is type(right) and bool(left == right)

    def comparable(self, value: Any) -> Any:
        """A key that is equal for equal JSON values."""
        self.spend(1)
        if isinstance(value, dict):
            return "object", frozenset((name, self.comparable(item)) for name, item in value.items())
        if isinstance(value, list):
            return "array", tuple(self.comparable(item) for item in value)
        return type(value).__name__, value

    def matches(self, text: str, value: str) -> bool:
        """Whether the pattern `text` is found in `value`."""
        self.spend(3 + len(value) // 500)
        return pattern(text).search(value) is not None


def _ref(run: Evaluation, reference: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    run.run(run.targets[reference], value, path, found)


def _type(run: Evaluation, types: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    fits = any(_is(each, value) for each in types) if isinstance(types, list) else _is(types, value)
    if not fits:
        found.append(Fault(path, "type", types))


def _is(type_: str, value: Any) -> bool:
    if type_ == "integer":
        return isinstance(value, Decimal) and value.is_finite() and value.as_integer_ratio()[1] == 1
    if type_ == "null":
        return value is None
    return isinstance(value, _PYTHON[type_])


_PYTHON: dict[str, type] = {"array": list, "boolean": bool, "number": Decimal, "object": dict, "string": str}


def _enum(run: Evaluation, choices: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if not any(run.same(choice, value) for choice in choices):
        found.append(Fault(path, "enum", choices))


def _const(run: Evaluation, expected: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if not run.same(expected, value):
        found.append(Fault(path, "const", expected))


def _bound(name: str, kind: type, fits: Callable[[Any, Any], bool]) -> _Keyword:
    """A keyword that compares a number, or the length of something, with a limit."""

    def keyword(run: Evaluation, limit: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
        if isinstance(value, kind) and (_is_nan(value) or not fits(value, limit)):
            found.append(Fault(path, name, limit))

    return keyword


def _is_nan(value: Any) -> bool:
    """NaN is no more than anything, and no less; it comes in states only."""
    return isinstance(value, Decimal) and value.is_nan()


def _is_multiple(value: Decimal, divisor: Decimal) -> bool:
    return (Fraction(value) / Fraction(divisor)).denominator == 1


def _multiple_of(
    run: Evaluation, divisor: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, Decimal):
        run.spend(20)  # fractions of a thousand digits are exact and not cheap
        if not value.is_finite() or not _is_multiple(value, divisor):
            found.append(Fault(path, "multipleOf", divisor))


def _pattern(run: Evaluation, text: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if isinstance(value, str) and not run.matches(text, value):
        found.append(Fault(path, "pattern", text))


def _required(run: Evaluation, names: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if isinstance(value, dict):
        run.spend(len(names) // 10)
        found.extend(Fault((*path, name), "required", None) for name in names if name not in value)


def _properties(run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if isinstance(value, dict):
        run.spend(len(parts) // 10)
        for name, part in parts.items():
            if name in value:
                run.run(part, value[name], (*path, name), found)


def _pattern_properties(
    run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, dict):
        for text, part in parts.items():
            for name, item in value.items():
                if run.matches(text, name):
                    run.run(part, item, (*path, name), found)


def _additional_properties(
    run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        run.spend(1)
        if name in named or any(run.matches(text, name) for text in patterns):
            continue
        if part is False:
            found.append(Fault((*path, name), "additionalProperties", None))
        else:
            run.run(part, item, (*path, name), found)


def _property_names(
    run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, dict):
        found.extend(
            Fault((*path, name), "propertyNames", None) for name in value if not run.fits(part, name)
        )


def _dependent_required(
    run: Evaluation, needs: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, dict):
        for name, needed in needs.items():
            if name in value:
                _required(run, needed, value, schema, path, found)


def _dependent_schemas(
    run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, dict):
        for name, part in parts.items():
            if name in value and isinstance(part, list):
                _required(run, part, value, schema, path, found)
            elif name in value:
                run.run(part, value, path, found)


def _items(run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if isinstance(part, list):
        _prefix_items(run, part, value, schema, path, found)
    elif isinstance(value, list):
        _rest(run, part, value, len(schema.get("prefixItems", [])), path, found)


def _additional_items(
    run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, list) and isinstance(schema.get("items"), list):
        _rest(run, part, value, len(schema["items"]), path, found)


def _prefix_items(
    run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if isinstance(value, list):
        for position, (part, item) in enumerate(zip(parts, value, strict=False)):
            run.run(part, item, (*path, position), found)


def _rest(run: Evaluation, part: Any, value: list[Any], start: int, path: Path, found: list[Fault]) -> None:
    if part is False and len(value) > start:
        found.append(Fault((*path, start), "items", None))
    elif part is not True and part is not False:
        for position in range(start, len(value)):
            run.run(part, value[position], (*path, position), found)


def _contains(run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if not isinstance(value, list):
        return
    count = sum(run.fits(part, item) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", count)
    if count < least:
        found.append(Fault(path, "contains" if count == 0 else "minContains", least))
    elif count > most:
        found.append(Fault(path, "maxContains", most))


def _unique_items(
    run: Evaluation, unique: Any, value: Any, schema: Any, path: Path, found: list[Fault]
) -> None:
    if not (unique and isinstance(value, list)):
        return
    seen: set[Any] = set()
    for position, item in enumerate(value):
        key = run.comparable(item)
        if key in seen:
            found.append(Fault((*path, position), "uniqueItems", None))
            return
        seen.add(key)


def _all_of(run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    for part in parts:
        run.run(part, value, path, found)


def _any_of(run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    forms: list[tuple[Fault, ...]] = []
    for part in parts:
        inner: list[Fault] = []
        run.run(part, value, path, inner, _FAULTS_PER_FORM)
        if not inner:
            return
        forms.append(tuple(inner[:_FAULTS_PER_FORM]))
    found.append(Fault(path, "anyOf", parts, tuple(forms)))


def _one_of(run: Evaluation, parts: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    forms: list[tuple[Fault, ...]] = []
    fitting = 0
    for part in parts:
        inner: list[Fault] = []
        run.run(part, value, path, inner, _FAULTS_PER_FORM)
        forms.append(tuple(inner[:_FAULTS_PER_FORM]))
        fitting += not inner
    if fitting != 1:
        found.append(Fault(path, "oneOf", parts, tuple(forms) if fitting == 0 else ()))


def _not(run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    if run.fits(part, value):
        found.append(Fault(path, "not", None))


def _if(run: Evaluation, part: Any, value: Any, schema: Any, path: Path, found: list[Fault]) -> None:
    branch = schema.get("then", True) if run.fits(part, value) else schema.get("else", True)
    run.run(branch, value, path, found)


_KEYWORDS: dict[str, _Keyword] = {
    "$ref": _ref,
    "additionalItems": _additional_items,
    "additionalProperties": _additional_properties,
    "allOf": _all_of,
    "anyOf": _any_of,
    "const": _const,
    "contains": _contains,
    "dependencies": _dependent_schemas,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "enum": _enum,
    "exclusiveMaximum": _bound("exclusiveMaximum", Decimal, lambda value, limit: value < limit),
    "exclusiveMinimum": _bound("exclusiveMinimum", Decimal, lambda value, limit: value > limit),
    "if": _if,
    "items": _items,
    "maxItems": _bound("maxItems", list, lambda value, limit: len(value) <= limit),
    "maxLength": _bound("maxLength", str, lambda value, limit: len(value) <= limit),
    "maxProperties": _bound("maxProperties", dict, lambda value, limit: len(value) <= limit),
    "maximum": _bound("maximum", Decimal, lambda value, limit: value <= limit),
    "minItems": _bound("minItems", list, lambda value, limit: len(value) >= limit),
    "minLength": _bound("minLength", str, lambda value, limit: len(value) >= limit),
    "minProperties": _bound("minProperties", dict, lambda value, limit: len(value) >= limit),
    "minimum": _bound("minimum", Decimal, lambda value, limit: value >= limit),
    "multipleOf": _multiple_of,
    "not": _not,
    "oneOf": _one_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "prefixItems": _prefix_items,
    "properties": _properties,
    "propertyNames": _property_names,
    "required": _required,
    "type": _type,
    "uniqueItems": _unique_items,
}
KEYWORDS = frozenset(_KEYWORDS)
"""All keywords that say something about a value."""
