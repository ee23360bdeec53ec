"""What does not fit, in words that people can act on. Pure."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import canonical

from reviewhub.core.schemas.evaluator import Fault

_SHOWN = 10
_LIMITS = {
    "minimum": "must be at least {0}",
    "maximum": "must be at most {0}",
    "exclusiveMinimum": "must be more than {0}",
    "exclusiveMaximum": "must be less than {0}",
    "multipleOf": "must be a multiple of {0}",
    "minLength": "must have at least {0} characters",
    "maxLength": "must have at most {0} characters",
    "minItems": "must have at least {0} items",
    "maxItems": "must have at most {0} items",
    "minProperties": "must have at least {0} members",
    "maxProperties": "must have at most {0} members",
    "minContains": "must contain at least {0} items of the right kind",
    "maxContains": "must contain at most {0} items of the right kind",
    "pattern": "must match the pattern {0}",
    "const": "must be {0}",
}
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_SENTENCES = {
    "required": "is required",
    "additionalProperties": "is not a known member",
    "uniqueItems": "occurs twice",
    "contains": "must contain an item of the right kind",
    "not": "is not allowed here",
    "propertyNames": "has a member with a name that is not allowed",
    "dependentRequired": "needs another member too",
    "dependencies": "needs another member too",
    "prefixItems": "has an item that is not allowed",
    "items": "has more items than are allowed",
    "additionalItems": "has more items than are allowed",
}


def error_of(fault: Fault) -> dict[str, str]:
    """One fault as {path, code, message}; the message goes on from the name of the value: "must be at least 5"."""
    fault = _telling(fault)
    return {"path": canonical.pointer(fault.path), "code": fault.keyword, "message": _message(fault)}


def _telling(fault: Fault) -> Fault:
    """For a choice of forms: the fault inside the one form of the right type, if there is just one."""
    while fault.forms:
        fitting = [form for form in fault.forms if not any(_is_of_wrong_type(each, fault) for each in form)]
        if len(fitting) != 1:
            break
        fault = fitting[0][0]
    return fault


def _is_of_wrong_type(inner: Fault, outer: Fault) -> bool:
    return inner.keyword in ("type", "const", "enum") and inner.path == outer.path


def _message(fault: Fault) -> str:
    keyword, value = fault.keyword, fault.expected
    if keyword in _LIMITS:
        return _LIMITS[keyword].format(_text(value))
    if keyword == "type":
        return (
            f"must be {_one_of([_TYPES[each] for each in (value if isinstance(value, list) else [value])])}"
        )
    if keyword == "enum" and value:
        return f"must be {_one_of([_text(each) for each in value[:_SHOWN]])}" + (
            " …" if len(value) > _SHOWN else ""
        )
    if keyword in ("anyOf", "oneOf"):
        return _forms(value) if fault.forms else "fits more than one of the allowed forms"
    return _SENTENCES.get(keyword, "is not allowed here")


def _forms(forms: Any) -> str:
    types = [form.get("type") if isinstance(form, dict) else None for form in forms]
    if all(isinstance(each, str) for each in types):
        return f"must be {_one_of([_TYPES[str(each)] for each in dict.fromkeys(types)])}"
    return f"fits none of the {len(forms)} allowed forms"


def _one_of(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f" or {texts[-1]}"


def _text(value: Any) -> str:
    """A value of the schema as JSON, cut when long."""
    text = canonical.dumps(value)
    return text if len(text) <= 80 else text[:79] + "…"
