"""The evaluator says yes and no where the common library does; generated schemas, draft 2020-12 and 7."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry

from reviewhub.core.schemas.validate import check_schema, validate

names = st.sampled_from(["a", "b", "ab"])
scalars = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "ab", "ba"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)
counts = st.integers(0, 2)
types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
patterns = st.sampled_from(["a", "^a", "b$", "^[ab]+$", "^$"])


def parts(inner: st.SearchStrategy) -> st.SearchStrategy:
    lists = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
            "enum": st.lists(scalars, max_size=3),
            "const": values,
            "minimum": st.integers(-2, 3),
            "exclusiveMaximum": st.integers(-2, 3),
            "multipleOf": st.integers(1, 2),
            "minLength": counts,
            "maxLength": counts,
            "pattern": patterns,
            "minItems": counts,
            "maxItems": counts,
            "uniqueItems": st.booleans(),
            "items": inner,
            "prefixItems": lists,
            "contains": inner,
            "minContains": counts,
            "maxContains": counts,
            "required": st.lists(names, max_size=2),
            "minProperties": counts,
            "maxProperties": counts,
            "properties": st.dictionaries(names, inner, max_size=3),
            "patternProperties": st.dictionaries(patterns, inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2), max_size=2),
            "dependentSchemas": st.dictionaries(names, inner, max_size=2),
            "allOf": lists,
            "anyOf": lists,
            "oneOf": lists,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
        },
    )


schemas = st.recursive(st.booleans() | parts(st.booleans()), parts, max_leaves=6)
# No reference leads back, so that both can answer.
leaves = st.booleans() | parts(st.booleans()).map(lambda part: {k: v for k, v in part.items() if k != "$ref"})


@settings(max_examples=40, deadline=None)
@given(schemas, leaves, leaves, values)
def test_answers_are_those_of_the_library(schema, a, b, value):
    whole = {"allOf": [schema], "$defs": {"a": a, "b": b}}
    text = json.dumps(whole)
    assert check_schema(text) == []
    expected = jsonschema.Draft202012Validator(whole, registry=Registry()).is_valid(value)
    assert (validate(text, json.dumps(value)) == []) is expected


@pytest.mark.parametrize(
    "schema",
    [
        {"items": [{"type": "string"}], "additionalItems": {"type": "null"}},
        {"items": [{"type": "string"}], "additionalItems": False},
        {"items": [True], "additionalItems": True},
        {"definitions": {"a": True}, "items": {"$ref": "#/definitions/a", "type": "string"}},
        {"dependencies": {"a": ["b"], "b": {"minProperties": 3}}},
        {"contains": {"type": "null"}},
    ],
)
@settings(max_examples=10, deadline=None)
@given(value=values)
def test_draft_7(schema, value):
    whole = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    expected = jsonschema.Draft7Validator(whole).is_valid(value)
    assert (validate(json.dumps(whole), json.dumps(value)) == []) is expected
