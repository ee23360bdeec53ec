"""A form for a tool call's arguments, made from the tool's JSON Schema.

The schema is hostile input: it only ever decides which kind of control a field gets. What may be written is checked
by `core.schemas` when the decision arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.display import segments
from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.exact import below
from reviewhub.core.display.masking import secret_values
from reviewhub.core.display.secrets import is_secret_key
from reviewhub.core.display.write_only import read_schema, referred
from reviewhub.web.field import LONG, Field, escaped, survives

MOST_FIELDS = 200
MOST_INSIDE = 40
"""Values inside a list or an object that still get a field each; of more they are edited as one JSON text."""
MOST_DEPTH = 6
MOST_OPTIONS = 100
MOST_REFERENCES = 8
ABSENT = "(not given)"
KINDS = {bool: "true or false", Number: "number", str: "text", list: "list", dict: "object"}
TYPES = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "null": "nothing",
    "string": "text",
}
"""JSON Schema's names of types, as the pages call them; `number` and `object` are the same word in both."""
_BLANK = {"boolean": "choice", "number": "number", "integer": "number", "string": "text"}


@dataclass(frozen=True)
class _Form:
    """What holds for every field of one form."""

    root: dict[str, Any]
    secret_paths: frozenset[str]
    locked: tuple[tuple[str, ...], ...]

    def rules(self, given: Any) -> dict[str, Any]:
        """A subschema with what it refers to inside of the schema; of a value or nothing, the value's."""
        for _ in range(MOST_REFERENCES):
            if not isinstance(given, dict):
                return {}
            if isinstance(given.get("$ref"), str):
                given = referred(given["$ref"], self.root)
            elif (only := _only(given)) is not None:
                given = only
            else:
                return given
        return {}

    def is_locked(self, keys: tuple[str, ...]) -> bool:
        """Whether the value there is kept as it is."""
        return any(keys[: len(path)] == path for path in self.locked)

    def locks_inside(self, keys: tuple[str, ...]) -> bool:
        """Whether something inside of it is."""
        return any(path[: len(keys)] == keys for path in self.locked)


@dataclass(frozen=True)
class _At:
    """Where a value stands: `name` is the readable form of `path`, `keys` are its parts."""

    path: str = ""
    name: str = ""
    keys: tuple[str, ...] = ()

    def member(self, key: str | int) -> _At:
        """The place of a member."""
        name = f"{self.name}{below(key)}" if self.name else str(key)
        return _At(pointer(self.path, key), name, (*self.keys, str(key)))


def fields(
    schema_text: str,
    arguments_text: str,
    secret_paths: frozenset[str] = frozenset(),
    locked: Collection[str] = (),
) -> list[Field]:
    """One field for each value, for each that the schema knows and the call leaves out, and for one more item of each
    list.

    A list or object with a great many values inside, or none, is one field, edited as JSON text. Secrets are locked:
    their bytes never reach a browser.

    Args:
        locked: dotted paths of the values that no edit changes.
    """
    tree = canonical.reread(arguments_text)
    if not isinstance(tree, dict):
        return []
    form = _Form(read_schema(schema_text), secret_paths, tuple(tuple(path.split(".")) for path in locked))
    found: list[Field] = []
    for one in _inside(form, _At(), tree, form.rules(form.root)):
        if len(found) == MOST_FIELDS:
            break
        found.append(one)
    return found


def _inside(form: _Form, at: _At, tree: Tree, rules: dict[str, Any]) -> Iterator[Field]:
    """The fields for what is inside of an object or a list."""
    if isinstance(tree, dict):
        known = rules.get("properties")
        known = known if isinstance(known, dict) else {}
        for key in (*tree, *(key for key in known if key not in tree)):
            yield from _fields(form, at.member(key), tree, key, form.rules(known.get(key)))
    elif isinstance(tree, list):
        every = form.rules(rules.get("items"))
        is_free = not form.locks_inside(at.keys)
        for index, _ in enumerate(tree):
            own = list(_fields(form, at.member(index), tree, index, every))
            if is_free and own:
                own[0] = replace(own[0], item=at.member(index).path)
            yield from own
        if is_free:
            yield _one_more(at, tree, every)


def _fields(
    form: _Form, at: _At, parent: dict[str, Tree] | list[Tree], key: str | int, rules: dict[str, Any]
) -> Iterator[Field]:
    """The fields for one member: one, or one for each value inside."""
    is_present = isinstance(parent, list) or key in parent
    value: Tree = parent[key] if is_present else None  # type: ignore[index]
    is_open = not form.is_locked(at.keys) and not _is_secret(at, value, form.secret_paths)
    is_taken_apart = isinstance(value, dict | list) and 0 < _count(value) <= MOST_INSIDE
    if is_open and is_taken_apart and len(at.keys) < MOST_DEPTH:
        yield from _inside(form, at, value, rules)
    else:
        yield _field(form, at, str(key), value, rules, is_present=is_present)


def _field(form: _Form, at: _At, key: str, value: Tree, rules: dict[str, Any], *, is_present: bool) -> Field:
    describes = _describes(rules, value, is_present=is_present)
    made = Field(at.path, segments.split(at.name, mask=False), key, "json", "", describes=describes)
    made = replace(made, is_present=is_present)
    if _is_secret(at, value, form.secret_paths) or _holds_secret(at, value, form.secret_paths):
        return replace(made, control="locked", shown="••••••••", describes="secret")
    if form.is_locked(at.keys) or form.locks_inside(at.keys):
        shown = value if isinstance(value, str) else canonical.dumps(value)
        return replace(made, control="locked", shown=shown if is_present else "", is_ruled=True)
    if options := _options(rules, value, is_present=is_present):
        given = canonical.dumps(value) if is_present else ""
        return replace(made, control="choice", value=given, options=options)
    if not is_present:
        return _blank(made, rules)
    if isinstance(value, bool):
        return replace(made, control="switch", value="true" if value else "false")
    if isinstance(value, Number):
        return replace(made, control="number", value=value.literal)
    if isinstance(value, str):
        # A text that a form control would change by itself (a lone CR, a control character) is edited as JSON.
        if survives(value):
            is_long = len(value) > LONG or "\n" in value
            return replace(made, control="long" if is_long else "text", value=value)
        described = f"{describes}, as JSON: it holds hidden or look-alike characters"
        return replace(made, value=escaped(canonical.dumps(value)), describes=described)
    return replace(made, value=escaped(canonical.dumps(value)))


def _blank(made: Field, rules: dict[str, Any]) -> Field:
    """The control for a value that is not there."""
    control = _BLANK.get(str(rules.get("type")), "json")
    return replace(made, control=control, options=["false", "true"] if control == "choice" else [])


def _one_more(at: _At, tree: list[Tree], rules: dict[str, Any]) -> Field:
    """The field that adds an item to a list; without a word of the schema it takes what the last item is."""
    if not rules and tree:
        last = {bool: "boolean", Number: "number", str: "string"}.get(type(tree[-1]), "")
        rules = {"type": last}
    named = segments.split(f"{at.name}/+", mask=False)
    kind = _describes(rules, None, is_present=True)
    made = Field(f"{at.path}/-", named, at.keys[-1], "json", "", describes=f"one more, {kind}")
    made = replace(made, is_present=False, adds=True)
    if options := _options(rules, None, is_present=False):
        return replace(made, control="choice", options=options)
    return _blank(made, rules)


def _only(rules: dict[str, Any]) -> Any:
    """What a subschema says of a value that may also be null; None for any other."""
    for name in ("anyOf", "oneOf"):
        given = rules.get(name)
        if isinstance(given, list) and len(given) == 2:
            left = [one for one in given if not (isinstance(one, dict) and one.get("type") == "null")]
            return left[0] if len(left) == 1 else None
    return None


def _count(value: Tree) -> int:
    """How many values are inside, never counted much further than matters; empty ones count."""
    todo, count = [value], 0
    while todo and count <= MOST_INSIDE:
        here = todo.pop()
        inside: list[Tree] = []
        if isinstance(here, dict):
            inside = list(here.values())
        elif isinstance(here, list):
            inside = here
        if inside:
            todo.extend(inside[: MOST_INSIDE + 1])
            count += max(0, len(inside) - MOST_INSIDE - 1)
        elif here is not value:
            count += 1
    return count


def _is_secret(at: _At, value: Tree, secret_paths: frozenset[str]) -> bool:
    """Whether the value itself, and all of it, is hidden."""
    if at.path in secret_paths or is_secret_key(at.keys[-1]):
        return True
    return isinstance(value, str) and bool(secret_values({"": value}, frozenset()))


def _holds_secret(at: _At, value: Tree, secret_paths: frozenset[str]) -> bool:
    """Whether something hidden is inside."""
    if not isinstance(value, dict | list):
        return False
    is_marked = any(one.startswith(f"{at.path}/") for one in secret_paths)
    return is_marked or bool(secret_values(value, frozenset()))


def _options(rules: dict[str, Any], value: Tree, *, is_present: bool) -> list[str]:
    given = rules.get("enum")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_OPTIONS:
        return []
    options = [canonical.dumps(one) for one in given]
    if is_present and canonical.dumps(value) not in options:
        options.insert(0, canonical.dumps(value))
    return options


def _describes(rules: dict[str, Any], value: Tree, *, is_present: bool) -> str:
    """The type and bounds in words."""
    named = rules.get("type")
    kind = TYPES.get(named, named) if isinstance(named, str) else KINDS.get(type(value), "anything")
    bounds = [
        f"{word} {_literal(rules[name])}{_unit(name, rules[name])}"
        for name, word in (
            ("minimum", "min"),
            ("maximum", "max"),
            ("minLength", "at least"),
            ("maxLength", "max"),
            ("format", "format"),
        )
        if isinstance(rules.get(name), (str, Number))
    ]
    said = ", ".join([str(kind)[:40], *bounds])
    return said if is_present else f"{said}, {ABSENT}"


def _unit(name: str, bound: str | Number) -> str:
    """What a bound counts, where its number alone does not say it."""
    if not name.endswith("Length"):
        return ""
    return " character" if _literal(bound) == "1" else " characters"


def _literal(value: str | Number) -> str:
    return value.literal if isinstance(value, Number) else value[:40]
