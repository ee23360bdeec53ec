"""Which values a JSON Schema marks `writeOnly`, for schemas and values that may both be made to take forever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.core.display.arguments import pointer

MOST_STEPS = 15_000
"""A schema that needs more to be laid over one value hides all of it: it is hostile input."""


def write_only_paths(schema_text: str, arguments_text: str) -> frozenset[str]:
    """JSON pointers into these arguments (a JSON text) that the schema marks `writeOnly`.

    Every subschema that could apply counts, without asking whether it does: a mark too many hides, one too few tells.
    """
    return (
        marked_in(schema_text, canonical.reread(arguments_text)) if _laid_open(schema_text) else frozenset()
    )


def marked_in(schema_text: str, whole: Tree) -> frozenset[str]:
    """As `write_only_paths`, for a value that was read already."""
    root = _laid_open(schema_text)
    if root is None:
        return frozenset()
    found: set[str] = set()
    seen: set[tuple[str, int]] = set()
    todo: list[tuple[str, Tree, Rules]] = [("", whole, root)]
    steps = 0
    while todo:
        path, value, rules = todo.pop()
        if path in found or (path, id(rules)) in seen:
            continue
        seen.add((path, id(rules)))
        for more in _hidden(path, value) if rules.is_marked else rules.over(path, value):
            if isinstance(more, str):
                found.add(more)
            else:
                todo.append(more)
            steps += 1
            if steps > MOST_STEPS:
                return frozenset(_hidden("", whole))
    return frozenset(found)


@dataclass(eq=False)
class Rules:
    """One subschema from which a mark can be reached, with those of its parts of which that is true."""

    is_marked: bool
    # Each is a set that keeps its order.
    same: dict[Rules, None] = field(default_factory=dict)
    """For the same value."""
    named: dict[str, dict[Rules, None]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    """All that `properties` lists, also those without a mark below."""
    others: dict[Rules, None] = field(default_factory=dict)
    """For what stands at any other key."""
    any_key: dict[Rules, None] = field(default_factory=dict)
    placed: dict[int, dict[Rules, None]] = field(default_factory=dict)
    any_item: dict[Rules, None] = field(default_factory=dict)

    def over(self, path: str, value: Tree) -> Iterator[tuple[str, Tree, Rules]]:
        """What is to be looked at next, for a value at `path`."""
        yield from ((path, value, one) for one in self.same)
        if isinstance(value, dict) and (self.named or self.others or self.any_key):
            for key, item in value.items():
                others = () if key in self.names else self.others
                for one in (*self.named.get(key, ()), *others, *self.any_key):
                    yield pointer(path, key), item, one
        elif isinstance(value, list) and (self.placed or self.any_item):
            for at, item in enumerate(value):
                for one in (*self.placed.get(at, ()), *self.any_item):
                    yield pointer(path, at), item, one


@lru_cache(maxsize=256)
def _laid_open(schema_text: str) -> Rules | None:
    """The schema as far as it leads to a mark; None where it has none."""
    root = read_schema(schema_text)
    parts: dict[int, list[tuple[str, Any, dict[str, Any]]]] = {}
    known: dict[int, dict[str, Any]] = {}
    leads_here: dict[int, list[int]] = {}
    todo = [root]
    while todo:
        rules = todo.pop()
        if id(rules) in known:
            continue
        known[id(rules)] = rules
        parts[id(rules)] = [part for part in _parts(rules, root) if isinstance(part[2], dict)]
        for _, _, inner in parts[id(rules)]:
            leads_here.setdefault(id(inner), []).append(id(rules))
            todo.append(inner)
    leads = [here for here, rules in known.items() if rules.get("writeOnly") is True]
    made: dict[int, Rules] = {}
    while leads:
        here = leads.pop()
        if here not in made:
            made[here] = Rules(is_marked=known[here].get("writeOnly") is True)
            leads += leads_here.get(here, ())
    for here, one in made.items():
        _fill(one, known[here], [(where, key, made.get(id(inner))) for where, key, inner in parts[here]])
    return made.get(id(root))


def _fill(rules: Rules, schema: dict[str, Any], parts: list[tuple[str, Any, Rules | None]]) -> None:
    properties = schema.get("properties")
    rules.names = frozenset(properties) if isinstance(properties, dict) else frozenset()
    for where, key, one in parts:
        if one is None:
            continue
        held = getattr(rules, where)
        (held if key is None else held.setdefault(key, {}))[one] = None


def _parts(rules: dict[str, Any], root: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The subschemas of one: for what (a field of `Rules`), at which key or place, and itself."""
    for name in ("allOf", "anyOf", "oneOf"):
        if isinstance(rules.get(name), list):
            yield from (("same", None, one) for one in rules[name])
    yield from (("same", None, rules.get(name)) for name in ("if", "then", "else"))
    if isinstance(rules.get("dependentSchemas"), dict):
        yield from (("same", None, one) for one in rules["dependentSchemas"].values())
    yield "same", None, referred(rules.get("$ref"), root)
    if isinstance(rules.get("properties"), dict):
        yield from (("named", key, one) for key, one in rules["properties"].items())
    yield from (
        ("others", None, rules.get(name)) for name in ("additionalProperties", "unevaluatedProperties")
    )
    if isinstance(rules.get("patternProperties"), dict):
        # Not matched: a pattern may be made to take forever.
        yield from (("any_key", None, one) for one in rules["patternProperties"].values())
    for name in ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"):
        given = rules.get(name)
        if isinstance(given, list):
            yield from (("placed", at, one) for at, one in enumerate(given))
        else:
            yield "any_item", None, given


def referred(ref: Any, root: dict[str, Any]) -> Any:
    """What a reference inside of the schema points at; None for anything else."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    found: Any = root
    for part in unquote(ref[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            return None
    return found


def read_schema(text: str) -> dict[str, Any]:
    """A stored schema; empty where there is none, or none that can be read any more."""
    if not text.strip():
        return {}
    try:
        tree = canonical.reread(text)
    except canonical.BadJson:
        return {}  # stored schemas were read once already
    return tree if isinstance(tree, dict) else {}


def _hidden(path: str, value: Tree) -> Iterator[str]:
    """Every pointer at and below `path`."""
    yield path
    todo = [(path, value)]
    while todo:
        here, inside = todo.pop()
        items: Any = ()
        if isinstance(inside, dict):
            items = inside.items()
        elif isinstance(inside, list):
            items = enumerate(inside)
        for key, item in items:
            below = pointer(here, key)
            yield below
            todo.append((below, item))
