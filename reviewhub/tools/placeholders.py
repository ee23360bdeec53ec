"""Whether what a sentence names is in the calls of its tool, as far as the tool's schema tells. Pure."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical

OPEN = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas")
"""Keywords by which a value may have members that its `properties` do not name."""


def unknown_names(schema: str, paths: list[str]) -> list[str]:
    """Those of the dotted `paths` that no call of a tool with this schema can be expected to have."""
    tree = canonical.to_python(canonical.reread(schema))
    return [path for path in paths if not _may_have(tree, path.split("."))]


def _may_have(schema: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(schema, dict) or any(name in schema for name in OPEN):
            return schema is not False
        if key.isdecimal() and ("items" in schema or "prefixItems" in schema):
            schema = {} if "prefixItems" in schema else schema["items"]
        elif "properties" in schema:
            if key not in schema["properties"]:
                return not schema["properties"] and schema.get("additionalProperties") is not False
            schema = schema["properties"][key]
        else:
            kinds = schema.get("type", "object")
            return isinstance(kinds, list) or kinds in ("object", "array")
    return True
