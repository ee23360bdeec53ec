"""What pydantic finds wrong, in words of JSON and not of Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SENTENCES: Mapping[str, str] = {
    "missing": "This field is required.",
    "extra_forbidden": "This field is not known here.",
    "model_type": "Should be an object.",
    "model_attributes_type": "Should be an object.",
    "dict_type": "Should be an object.",
    "list_type": "Should be a list.",
    "tuple_type": "Should be a list.",
    "string_type": "Should be a text.",
    "string_sub_type": "Should be a text.",
    "bool_type": "Should be true or false.",
    "bool_parsing": "Should be true or false.",
    "int_type": "Should be a whole number.",
    "int_from_float": "Should be a whole number.",
    "int_parsing": "Should be a whole number.",
    "float_type": "Should be a number.",
    "float_parsing": "Should be a number.",
    "finite_number": "Should be a finite number.",
    "greater_than": "Should be more than {gt}.",
    "greater_than_equal": "Should be at least {ge}.",
    "less_than": "Should be less than {lt}.",
    "less_than_equal": "Should be at most {le}.",
    "string_too_short": "Should not be shorter than {min_length}.",
    "string_too_long": "Should not be longer than {max_length} characters.",
    "string_pattern_mismatch": "Should be of the form {pattern}.",
    "too_short": "Should not have fewer entries than {min_length}.",
    "too_long": "Should not have more entries than {max_length}.",
    "enum": "Should be {expected}.",
    "literal_error": "Should be {expected}.",
}


def in_words(kind: str, message: str, context: Mapping[str, Any]) -> str:
    """The sentence for a fault of pydantic's type `kind`; its own `message` where it says nothing of Python."""
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "Should not be empty."
    sentence = _SENTENCES.get(kind)
    if sentence is not None:
        return sentence.format_map(context)
    return message.removeprefix("Value error, ").replace("Input should", "Should", 1)
