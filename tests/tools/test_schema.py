"""Agents' schemas: exact checks, and nothing that a hostile one can do."""

import contextlib
import json
import socket
import time

import pytest
from reviewhub_agents import canonical

from reviewhub.core.schemas.validate import SchemaUnusable, check_schema, fingerprint, validate

REFUND = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^[0-9]+$", "maxLength": 10},
        "amount": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["full", "part"]},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": 3},
    },
    "required": ["order_id", "amount"],
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}},
}
GOOD = {"order_id": "8812", "amount": "1240.00"}


def found(schema, arguments) -> list[tuple[str, str]]:
    """(path, code) of each error."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [(error["path"], error["code"]) for error in validate(json.dumps(schema), text)]


def test_good_arguments_have_no_errors():
    assert check_schema(json.dumps(REFUND)) == []
    assert (
        found(REFUND, {**GOOD, "count": 1, "kind": "part", "note": None, "lines": [{"sku": "a", "x": 1}]})
        == []
    )


@pytest.mark.parametrize(
    ("change", "path", "code", "message"),
    [
        ({"order_id": 8812}, "/order_id", "type", "must be text"),
        ({"order_id": "88 12"}, "/order_id", "pattern", 'must match the pattern "^[0-9]+$"'),
        ({"order_id": "8812\n"}, "/order_id", "pattern", 'must match the pattern "^[0-9]+$"'),
        ({"order_id": "1" * 11}, "/order_id", "maxLength", "must have at most 10 characters"),
        ({"count": 0}, "/count", "minimum", "must be at least 1"),
        ({"count": True}, "/count", "type", "must be a whole number"),
        ({"kind": "Full"}, "/kind", "enum", 'must be "full" or "part"'),
        ({"note": "too long"}, "/note", "maxLength", "must have at most 5 characters"),
        ({"note": 5}, "/note", "anyOf", "must be text or null"),
        ({"lines": [{}]}, "/lines/0/sku", "required", "is required"),
        ({"lines": [{"sku": 1}]}, "/lines/0/sku", "type", "must be text"),
        ({"lines": {}}, "/lines", "type", "must be a list"),
        ({"a/b~": 1}, "/a~1b~0", "additionalProperties", "is not a known member"),
    ],
)
def test_errors_name_path_keyword_and_what_would_be_right(change, path, code, message):
    errors = validate(json.dumps(REFUND), json.dumps({**GOOD, **change}))
    assert errors == [{"path": path, "code": code, "message": message}]


def test_a_missing_member_is_named_where_it_would_be():
    assert found(REFUND, {}) == [("/order_id", "required"), ("/amount", "required")]


@pytest.mark.parametrize(
    ("schema", "literal", "fits"),
    [
        ({"type": "integer"}, "1E2", True),
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "1.5", False),
        ({"type": "integer"}, "123456789012345678901234567890.5", False),
        ({"type": "integer"}, "1E-2", False),
        ({"type": "integer"}, "1E999", True),
        ({"type": "number"}, "true", False),
        ({"type": "boolean"}, "1", False),
        ({"maximum": 9007199254740992}, "9007199254740993", False),
        ({"minimum": 9007199254740993}, "9007199254740992", False),
        ({"exclusiveMinimum": 0.1}, "0.1", False),
        ({"exclusiveMinimum": 0.1}, "0.1000000000000000000001", True),
        ({"multipleOf": 0.01}, "0.07", True),
        ({"multipleOf": 0.01}, "1240.001", False),
        ({"multipleOf": 0.1}, "1E999", True),
        ({"multipleOf": 3}, "12345678901234567890124", False),
        ({"multipleOf": 3}, "12345678901234567890120", True),
        ({"const": 1}, "1.0", True),
        ({"const": 1}, "true", False),
        ({"enum": [False]}, "0", False),
        ({"enum": [9007199254740993]}, "9007199254740992", False),
    ],
)
def test_numbers_are_compared_exactly(schema, literal, fits):
    text = json.dumps({"properties": {"n": {**schema}}})
    assert (validate(text, f'{{"n":{literal}}}') == []) is fits


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ("[1,1.0]", False),
        ("[1,true]", True),
        ('["1",1]', True),
        ('[{"a":1,"b":2},{"b":2,"a":1}]', False),
        ("[[1],[true]]", True),
        ("[[1],{}]", True),
        ('[null,false,0,""]', True),
        ("[[],[]]", False),
    ],
)
def test_unique_items(items, unique):
    assert (validate('{"items":{"uniqueItems":true}}', f"[{items}]") == []) is unique


@pytest.mark.parametrize(
    ("schema", "path", "code"),
    [
        ([], "", "schema"),
        ("object", "", "schema"),
        ({"type": "objekt"}, "/type", "type"),
        ({"type": []}, "/type", "type"),
        ({"properties": []}, "/properties", "properties"),
        ({"properties": {"a": 1}}, "/properties/a", "schema"),
        ({"required": "a"}, "/required", "required"),
        ({"minLength": -1}, "/minLength", "minLength"),
        ({"minLength": 1.5}, "/minLength", "minLength"),
        ({"minimum": "1"}, "/minimum", "minimum"),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum", "exclusiveMinimum"),
        ({"multipleOf": 0}, "/multipleOf", "multipleOf"),
        ({"enum": "a"}, "/enum", "enum"),
        ({"uniqueItems": 1}, "/uniqueItems", "uniqueItems"),
        ({"anyOf": []}, "/anyOf", "anyOf"),
        ({"allOf": {}}, "/allOf", "allOf"),
        ({"pattern": "("}, "/pattern", "pattern"),
        ({"pattern": 1}, "/pattern", "pattern"),
        ({"pattern": "(?=a)"}, "/pattern", "pattern"),
        ({"pattern": r"(a)\1"}, "/pattern", "pattern"),
        ({"pattern": "a" * 1001}, "/pattern", "pattern"),
        ({"pattern": "((a{1,100}){1,100}){1,100}"}, "/pattern", "pattern"),
        ({"patternProperties": {"(": {}}}, "/patternProperties/(", "pattern"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema", "dialect"),
        ({"$schema": ["x"]}, "/$schema", "dialect"),
        ({"$ref": "http://127.0.0.1:9/x"}, "/$ref", "remote_reference"),
        ({"$ref": "file:///etc/passwd"}, "/$ref", "remote_reference"),
        ({"$ref": "other.json#/a"}, "/$ref", "remote_reference"),
        ({"$ref": 1}, "/$ref", "remote_reference"),
        ({"$ref": "#/nothing"}, "/$ref", "reference"),
        ({"$ref": "#nothing"}, "/$ref", "reference"),
        ({"x": {"pattern": "("}, "$ref": "#/x"}, "/$ref", "reference"),
        ({"$defs": {"a": {"enum": [{"pattern": "("}]}}, "$ref": "#/$defs/a/enum/0"}, "/$ref", "reference"),
        ({"properties": {"a": {"$id": "http://127.0.0.1:9/"}}}, "/properties/a/$id", "not_supported"),
        ({"$dynamicRef": "#a"}, "/$dynamicRef", "not_supported"),
        ({"items": {"$recursiveRef": "#"}}, "/items/$recursiveRef", "not_supported"),
        ({"unevaluatedProperties": False}, "/unevaluatedProperties", "not_supported"),
        ({"$anchor": "a b"}, "/$anchor", "$anchor"),
        ({"$ref": "#"}, "", "circle"),
        ({"anyOf": [{"$ref": "#"}]}, "", "circle"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "/$defs/a", "circle"),
    ],
)
def test_what_a_schema_may_not_hold_is_named_by_path(schema, path, code):
    problems = check_schema(json.dumps(schema))
    assert (problems[0]["path"], problems[0]["code"]) in [(path, code), (path.replace("/a", "/b"), code)]
    with pytest.raises(SchemaUnusable, match="cannot be used"):
        validate(json.dumps(schema), "{}")


def test_what_is_no_json_is_no_schema():
    assert check_schema("{")[0]["code"] == "invalid_json"
    assert check_schema('{"type":"object","type":"array"}')[0]["code"] == "duplicate_key"


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {}},
            "$ref": "#/definitions/a",
        },
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://127.0.0.1:9/tool"},
        {"$id": "http://127.0.0.1:9/tool", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": True}},
        {"$defs": {"a b/c~": {"type": "object"}}, "$ref": "#/$defs/a%20b~1c~0"},
        {"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"},
        {"properties": {"child": {"$ref": "#"}}},
        {"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}, "pattern": {}}},
        {"default": {"$ref": "http://x"}, "examples": [{"$ref": "x"}], "x-internal": {"pattern": "("}},
        {"format": "no-such-format", "nullable": True, "deprecated": True},
        {
            "$schema": "http://json-schema.org/draft-07/schema",
            "items": [{"type": "string"}],
            "additionalItems": False,
        },
        True,
    ],
)
def test_schemas_in_use_are_taken(schema):
    assert check_schema(json.dumps(schema)) == []
    assert validate(json.dumps(schema), "{}") == []


def test_false_lets_nothing_pass():
    assert found(False, {}) == [("", "not_allowed")]
    assert found({"properties": {"a": False}}, {"a": 1}) == [("/a", "not_allowed")]


def test_recursive_schemas_follow_the_value():
    tree = {"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert found(tree, {"child": {"child": {"n": "x"}}}) == [("/child/child/n", "type")]


def test_no_schema_opens_a_connection(monkeypatch):
    def refuse(*arguments, **more):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    schema = {
        "$id": "http://schemas.example/tool",
        "$defs": {"a": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/a"}},
    }
    assert found(schema, {"a": 1}) == [("/a", "type")]
    assert check_schema('{"$ref":"http://schemas.example/other"}')


def wide(width: int) -> dict:
    """2 ** width ways through a schema of `width` definitions."""
    defs = {
        f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(width)
    }
    return {"$defs": {**defs, f"a{width}": {"type": "null"}}, "$ref": "#/$defs/a0"}


NEST = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "required": ["no"]}}}


def deep(levels: int) -> str:
    return '{"a":' * levels + "{}" + "}" * levels


BIG = json.dumps({"a": ["x" * 20] * 40_000})


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (wide(40), "{}"),
        (NEST, deep(90)),
        ({"allOf": [{"properties": {"a": {"items": True}}}] * 600}, BIG),
        ({"allOf": [{"properties": {"a": {"contains": {"const": 1}}}}] * 100}, BIG),
        ({"anyOf": [{"type": "string"}, {"properties": {"a": {"maxItems": 1}}}] * 500}, BIG),
        ({"properties": {"a": {"items": {"enum": [f"v{n}" for n in range(20_000)]}}}}, BIG),
        (
            {"allOf": [{"patternProperties": {f"x{n}": {} for n in range(19)}}] * 10},
            json.dumps({f"k{n}": n for n in range(9000)}),
        ),
        (
            {"allOf": [{"properties": {"a": {"pattern": f"(x+x+)+y{n}"}}} for n in range(150)]},
            json.dumps({"a": "x" * 900_000}),
        ),
        (
            {"allOf": [{"properties": {"a": {"uniqueItems": True}}}] * 200},
            json.dumps({"a": list(range(40_000))}),
        ),
    ],
    ids=[
        "anyOf",
        "nested",
        "items",
        "contains",
        "repr",
        "enum",
        "patternProperties",
        "pattern",
        "uniqueItems",
    ],
)
def test_no_schema_holds_a_process_up(schema, arguments):
    text = json.dumps(schema)
    assert check_schema(text) == []
    start = time.process_time()
    with contextlib.suppress(SchemaUnusable):
        validate(text, arguments)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("schema", "arguments"), [(wide(40), "{}"), (NEST, deep(90))])
def test_what_takes_too_long_counts_as_unchecked(schema, arguments):
    with pytest.raises(SchemaUnusable, match="could not be checked"):
        validate(json.dumps(schema), arguments)


def test_a_pattern_that_backtracks_elsewhere_runs_in_linear_time():
    start = time.process_time()
    assert found({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 50_000 + "!"}) == [
        ("/a", "pattern")
    ]
    assert time.process_time() - start < 1


def test_the_number_of_errors_has_a_limit():
    assert len(found({"items": {"type": "string"}}, "[" + "1," * 5000 + "1]")) == 50


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"title": "x" * 256_000}, ""),
        ({"properties": {f"p{n}": {} for n in range(2001)}}, ""),
        ({"patternProperties": {f"p{n}": {} for n in range(201)}}, "/patternProperties"),
    ],
)
def test_schemas_have_a_largest_size(schema, path):
    problem = check_schema(json.dumps(schema))[0]
    assert (problem["path"], problem["code"]) == (path, "too_large")
    assert "limit" in problem["message"]


def test_schemas_have_a_largest_depth():
    schema: dict = {}
    for _ in range(40):
        schema = {"not": schema}
    assert check_schema(json.dumps(schema)) == []
    for _ in range(40):
        schema = {"not": schema}
    assert check_schema(json.dumps(schema))[0]["code"] == "too_deep"


def test_arguments_as_deep_as_allowed_are_checked():
    assert validate('{"properties":{"a":{"$ref":"#"}}}', deep(99)) == []


def test_arguments_that_cannot_be_read_are_unchecked():
    with pytest.raises(SchemaUnusable, match="cannot be read"):
        validate("{}", '{"a":NaN}')


def test_a_fingerprint_is_that_of_the_value():
    assert fingerprint('{"type": "object", "a": 1}') == fingerprint('{"a":1,"type":"object"}')
    assert fingerprint('{"a":1}') != fingerprint('{"a":1.0}')
    assert fingerprint("{}").startswith("sha256:")
    with pytest.raises(canonical.BadJson):
        fingerprint("{")
