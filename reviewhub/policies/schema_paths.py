"""What a tool's schema says of a path in its arguments, and sample arguments that it takes. Pure.

A schema is the agent's. Where it can mean more than this reads out of it (`$ref`, `anyOf`, …) nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reviewhub.tools.placeholders import OPEN

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_SAMPLES: dict[str, Any] = {"string": "1", "number": 1.5, "integer": 1, "boolean": True, "null": None}
_FORMATS = {"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "60s"}
_DEEPEST = 6


def types_at(schema: Any, keys: Sequence[str]) -> frozenset[str]:
    """The types that the value at a path may have, by name; all of them where the schema does not say."""
    for key in keys:
        if not isinstance(schema, dict) or any(name in schema for name in OPEN):
            return frozenset(TYPES)
        if key.isdecimal() and "items" in schema and "prefixItems" not in schema:
            schema = schema["items"]
        elif isinstance(schema.get("properties"), dict) and key in schema["properties"]:
            schema = schema["properties"][key]
        else:
            return frozenset(TYPES)
    return _types(schema)


def values_at(schema: Any, keys: Sequence[str]) -> list[Any] | None:
    """The only values that a path may have, where the schema lists them; None where it lists none."""
    for key in keys:
        if not isinstance(schema, dict) or any(name in schema for name in OPEN):
            return None
        if key.isdecimal() and "items" in schema and "prefixItems" not in schema:
            schema = schema["items"]
        elif isinstance(schema.get("properties"), dict) and key in schema["properties"]:
            schema = schema["properties"][key]
        else:
            return None
    if not isinstance(schema, dict) or any(name in schema for name in OPEN):
        return None
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None


def sample(schema: Any, *, whole: bool, turn: int = 0, depth: int = 0) -> Any:
    """A value that the schema takes, as far as that is easily told.

    Args:
        whole: with whole numbers where it can.
        turn: which of several types, or of several values listed, it takes where there are some.
    """
    if not isinstance(schema, dict):
        return "1"
    if "const" in schema:
        return schema["const"]
    if "default" in schema and turn == 0:
        return schema["default"]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _nth(schema[key], turn)
    kinds = _types(schema)
    kind = "object" if "properties" in schema else _nth([one for one in TYPES if one in kinds], turn)
    if kind == "object":
        return _sample_object(schema, whole, turn, depth)
    if kind == "array":
        items = schema.get("items", {})
        return [sample(items, whole=whole, turn=turn, depth=depth + 1)] if depth < _DEEPEST else []
    if kind == "string":
        return _FORMATS.get(str(schema.get("format")), "1")
    return 1 if kind == "number" and whole else _SAMPLES.get(str(kind), {})


def _nth(given: Sequence[Any], at: int) -> Any:
    """The one at a place, from the first again behind the last one; a text where there is none."""
    return given[at % len(given)] if given else "string"


def _sample_object(schema: dict[str, Any], whole: bool, turn: int, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth >= _DEEPEST:
        return {}
    return {name: sample(part, whole=whole, turn=turn, depth=depth + 1) for name, part in properties.items()}


def _types(schema: Any) -> frozenset[str]:
    if not isinstance(schema, dict) or any(name in schema for name in OPEN):
        return frozenset(TYPES)
    said = schema.get("type")
    if said is None and isinstance(schema.get("enum"), list):
        return frozenset(_type_of(value) for value in schema["enum"])
    if said is None:
        return frozenset(TYPES)
    return frozenset([said] if isinstance(said, str) else said)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "null"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"
