"""What a schema may look like: one walk over all its parts, at registration. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from urllib.parse import unquote

from reviewhub_agents.canonical import Number, Tree, pointer

from reviewhub.core.schemas.patterns import pattern

MAX_SCHEMA_BYTES = 256_000
MAX_SCHEMA_DEPTH = 64
MAX_SUBSCHEMAS = 2000
MAX_PATTERNS = 200
MAX_PROBLEMS = 20

_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
)
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
    }
)
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
_IN_PLACE = frozenset(
    {"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)
_COUNTS = frozenset(
    {
        "maxContains", "maxItems", "maxLength", "maxProperties",
        "minContains", "minItems", "minLength", "minProperties",
    }
)  # fmt: skip
_BOUNDS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_REFUSED = {
    "$dynamicAnchor": "dynamic references are not supported",
    "$dynamicRef": "dynamic references are not supported",
    "$recursiveAnchor": "dynamic references are not supported",
    "$recursiveRef": "dynamic references are not supported",
    "$vocabulary": "own vocabularies are not supported",
    "unevaluatedItems": "is not supported; say it with items",
    "unevaluatedProperties": "is not supported; say it with additionalProperties",
}

_Keys = tuple[str | int, ...]


@dataclass
class _Walk:
    """What is known after the walk: all parts by place, and which apply to the same value as which."""

    parts: dict[_Keys, Tree] = field(default_factory=dict)
    anchors: dict[str, _Keys] = field(default_factory=dict)
    same_value: dict[_Keys, list[_Keys]] = field(default_factory=dict)
    references: list[tuple[_Keys, str]] = field(default_factory=list)
    patterns: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)

    @cached_property
    def _by_pointer(self) -> dict[str, _Keys]:
        return {_exact(keys): keys for keys in self.parts}

    def target(self, reference: str) -> _Keys | None:
        """The part that `#…` names, or None; asked when the walk is over."""
        name = unquote(reference[1:])
        return self._by_pointer.get(name) if not name or name.startswith("/") else self.anchors.get(name)

    def problem(self, keys: _Keys, code: str, message: str) -> None:
        self.problems.append({"path": pointer(keys), "code": code, "message": message})


def problems_of(tree: Tree) -> list[dict[str, str]]:
    """What is wrong with a parsed schema, as {path, code, message}; at most `MAX_PROBLEMS`."""
    return _walk(tree).problems[:MAX_PROBLEMS]


def targets_of(tree: Tree) -> dict[str, tuple[str | int, ...]]:
    """Where the references of a schema without problems lead: `#/$defs/a` → ("$defs", "a")."""
    walk = _walk(tree)
    return {reference: walk.target(reference) or () for _, reference in walk.references}


def is_early(tree: Tree) -> bool:
    """Whether the schema names a draft up to 7, in which a `$ref` stood for its whole part."""
    return isinstance(tree, dict) and "draft-0" in str(tree.get("$schema"))


def _walk(tree: Tree) -> _Walk:
    walk = _Walk()
    if not isinstance(tree, dict | bool):
        walk.problem((), "schema", "a schema is an object, true or false")
        return walk
    _check_draft(tree, walk)
    todo: list[tuple[_Keys, Tree]] = [((), tree)]
    while todo and len(walk.problems) < MAX_PROBLEMS:
        keys, part = todo.pop()
        walk.parts[keys] = part
        if len(walk.parts) > MAX_SUBSCHEMAS:
            walk.problem(
                (), "too_large", f"the schema has more than {MAX_SUBSCHEMAS} parts, which is the limit"
            )
            break
        if isinstance(part, dict):
            todo.extend(_check_part(keys, part, walk))
        elif not isinstance(part, bool):
            walk.problem(keys, "schema", "must be a schema: an object, true or false")
    if not walk.problems:
        _check_references(walk)
    return walk


def _check_draft(tree: Tree, walk: _Walk) -> None:
    draft = tree.get("$schema") if isinstance(tree, dict) else None
    if draft is not None and (not isinstance(draft, str) or draft.removesuffix("#") not in _DRAFTS):
        walk.problem(("$schema",), "dialect", f"must be one of {', '.join(_DRAFTS)}")


def _check_part(keys: _Keys, part: dict[str, Tree], walk: _Walk) -> Iterator[tuple[_Keys, Tree]]:
    """Checks the keywords of one part and gives the parts below it."""
    for name, value in part.items():
        place = (*keys, name)
        if name in _REFUSED:
            walk.problem(place, "not_supported", _REFUSED[name])
        elif name == "$id" and keys:
            walk.problem(place, "not_supported", "only the whole schema may have an $id")
        elif name == "$ref":
            _note_reference(keys, value, walk)
        elif name == "$anchor":
            _note_anchor(keys, value, walk)
        elif (check := _CHECKS.get(name)) and (fault := check(value)):
            walk.problem(place, name, fault)
        if name == "pattern" or name == "patternProperties":
            _check_patterns(place, value, walk)
        for below, subschema in _below(name, value, place, walk):
            if name in _IN_PLACE:
                walk.same_value.setdefault(keys, []).append(below)
            yield below, subschema


def _below(name: str, value: Tree, place: _Keys, walk: _Walk) -> Iterator[tuple[_Keys, Tree]]:
    if name in _LISTS or (name == "items" and isinstance(value, list)):
        if not isinstance(value, list) or not value:
            walk.problem(place, name, "must be a list of schemas, and not empty")
            return
        yield from (((*place, position), item) for position, item in enumerate(value))
    elif name in _MAPS:
        if not isinstance(value, dict):
            walk.problem(place, name, "must be an object of schemas")
            return
        for key, item in value.items():
            if name == "dependencies" and isinstance(item, list):
                if fault := _strings(item):
                    walk.problem((*place, key), name, fault)
            else:
                yield (*place, key), item
    elif name in _ONE:
        yield place, value


def _note_reference(keys: _Keys, value: Tree, walk: _Walk) -> None:
    if not isinstance(value, str) or not value.startswith("#"):
        walk.problem((*keys, "$ref"), "remote_reference", "must start with #: nothing outside is looked up")
    else:
        walk.references.append((keys, value))


def _note_anchor(keys: _Keys, value: Tree, walk: _Walk) -> None:
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii():
        walk.problem((*keys, "$anchor"), "$anchor", "must be a name of ASCII letters, digits and _")
    elif value in walk.anchors:
        walk.problem((*keys, "$anchor"), "$anchor", "is used twice")
    else:
        walk.anchors[value] = keys


def _check_patterns(place: _Keys, value: Tree, walk: _Walk) -> None:
    if not isinstance(value, dict | str):
        walk.problem(place, "pattern", "must be text")
        return
    for text in value if isinstance(value, dict) else [value]:
        walk.patterns += 1
        try:
            pattern(text)
        except ValueError as error:
            walk.problem((*place, text) if isinstance(value, dict) else place, "pattern", str(error))
        if walk.patterns > MAX_PATTERNS:
            walk.problem(
                place, "too_large", f"the schema has more than {MAX_PATTERNS} patterns, which is the limit"
            )
            return


def _check_references(walk: _Walk) -> None:
    for keys, reference in walk.references:
        found = walk.target(reference)
        if found is None:
            walk.problem((*keys, "$ref"), "reference", "refers to no part of this schema")
        else:
            walk.same_value.setdefault(keys, []).append(found)
    if not walk.problems and (circle := _circle(walk.same_value)) is not None:
        walk.problem(circle, "circle", "refers to itself without going into the value")


def _exact(keys: _Keys) -> str:
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def _circle(edges: dict[_Keys, list[_Keys]]) -> _Keys | None:
    """A part that applies to the same value again and again, or None."""
    done: set[_Keys] = set()
    for start in edges:
        open_: dict[_Keys, Iterator[_Keys]] = {start: iter(edges[start])} if start not in done else {}
        while open_:
            here = next(reversed(open_))
            following = next(open_[here], None)
            if following is None:
                done.add(here)
                del open_[here]
            elif following in open_:
                return following
            elif following not in done:
                open_[following] = iter(edges.get(following, []))
    return None


def _count(value: Tree) -> str | None:
    number = Decimal(value.literal) if isinstance(value, Number) else None
    fits = number is not None and number >= 0 and number.as_integer_ratio()[1] == 1
    return None if fits else "must be a whole number, 0 or more"


def _bound(value: Tree) -> str | None:
    return None if isinstance(value, Number) else "must be a number"


def _divisor(value: Tree) -> str | None:
    fits = isinstance(value, Number) and Decimal(value.literal) > 0
    return None if fits else "must be a number above 0"


def _strings(value: Tree) -> str | None:
    fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if fits else "must be a list of names"


def _names_of(value: Tree) -> str | None:
    fits = isinstance(value, dict) and all(_strings(item) is None for item in value.values())
    return None if fits else "must be an object of lists of names"


def _type(value: Tree) -> str | None:
    types = value if isinstance(value, list) else [value]
    fits = bool(types) and all(isinstance(item, str) and item in _TYPES for item in types)
    return None if fits else f"must be among {', '.join(sorted(_TYPES))}"


def _flag(value: Tree) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _list(value: Tree) -> str | None:
    return None if isinstance(value, list) else "must be a list"


_CHECKS: dict[str, Callable[[Tree], str | None]] = {
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_BOUNDS, _bound),
    "dependentRequired": _names_of,
    "enum": _list,
    "multipleOf": _divisor,
    "required": _strings,
    "type": _type,
    "uniqueItems": _flag,
}
