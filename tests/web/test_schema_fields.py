"""The form for a call's arguments: which control stands for which value, and which changes it means. No database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.core.changes import apply_changes, parse_changes
from reviewhub.web.field import Field
from reviewhub.web.form_changes import changes
from reviewhub.web.schema_fields import MOST_INSIDE, fields

SCHEMA: dict[str, Any] = {
    "$defs": {
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        },
        "Speed": {"enum": ["slow", "fast"]},
    },
    "type": "object",
    "properties": {
        "customer": {
            "type": "object",
            "properties": {
                "email": {"type": "string"},
                "vip": {"type": "boolean"},
            },
        },
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "speed": {"anyOf": [{"$ref": "#/$defs/Speed"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Speed"}},
    },
}
CALL = (
    '{"customer":{"email":"a@b.example"},"lines":[{"count":1E2,"sku":"A"},{"count":2,"sku":"B"}],'
    '"speed":"slow","tags":["slow"]}'
)


def made(
    arguments: str = CALL, *, locked: tuple[str, ...] = (), secret: tuple[str, ...] = ()
) -> dict[str, Field]:
    found = fields(json.dumps(SCHEMA), arguments, frozenset(secret), locked)
    return {one.path: one for one in found}


def after(posted: dict[str, str], *, arguments: str = CALL, locked: tuple[str, ...] = ()) -> str:
    found, filled = changes(posted, json.dumps(SCHEMA), arguments, frozenset(), locked)
    assert not [one.error for one in filled if one.error]
    return apply_changes(arguments, parse_changes(found))


def test_bounds_of_a_text_say_what_they_count() -> None:
    schema = {"properties": {"note": {"type": "string", "minLength": 1, "maxLength": 20}}}
    (note,) = fields(json.dumps(schema), '{"note":"x"}', frozenset(), ())
    assert note.describes == "text, at least 1 character, max 20 characters"


def test_values_inside_objects_and_lists_have_fields_of_their_own_type() -> None:
    found = {path: one.control for path, one in made().items()}
    assert found == {
        "/customer/email": "text", "/customer/vip": "choice",
        "/lines/0/count": "number", "/lines/0/sku": "text", "/lines/1/count": "number", "/lines/1/sku": "text",
        "/lines/-": "json", "/speed": "choice", "/tags/0": "choice", "/tags/-": "choice",
    }  # fmt: skip
    assert made()["/lines/1/count"].describes == "whole number, min 1"
    assert made()["/lines/0/count"].value == "1E2", "as it was written"
    assert made()["/speed"].options == ['"slow"', '"fast"'], "behind a reference, and beside null"


@pytest.mark.parametrize(
    ("posted", "expected"),
    [
        ({"f:/customer/email": "c@d.example"}, CALL.replace("a@b", "c@d")),
        ({"f:/customer/vip": "true"}, CALL.replace('example"}', 'example","vip":true}')),
        ({"f:/lines/1/count": "3"}, CALL.replace('"count":2', '"count":3')),
        ({"f:/lines/-": '{"count":1,"sku":"C"}'}, CALL.replace('"B"}]', '"B"},{"count":1,"sku":"C"}]')),
        ({"f:/tags/-": '"fast"'}, CALL.replace('"tags":["slow"]', '"tags":["slow","fast"]')),
        ({"x:/lines/0": "1"}, CALL.replace('{"count":1E2,"sku":"A"},', "")),
        ({"x:/lines/0": "1", "f:/lines/0/sku": "gone"}, CALL.replace('{"count":1E2,"sku":"A"},', "")),
        (
            {"x:/lines/0": "1", "f:/lines/1/sku": "Z", "f:/lines/-": "{}"},
            CALL.replace('{"count":1E2,"sku":"A"},', "").replace('"B"}', '"Z"},{}'),
        ),
        ({"x:/lines/0": "1", "x:/lines/1": "1"}, CALL.replace('{"count":1E2,"sku":"A"},{"count":2,"sku":"B"}', "")),
        ({"f:/lines/9/sku": "no such field", "x:/customer": "1", "f:/tags/-": ""}, CALL),
    ],
)  # fmt: skip
def test_what_is_filled_in_is_what_changes_and_nothing_else(posted: dict[str, str], expected: str) -> None:
    assert after(posted) == expected


@pytest.mark.parametrize(
    ("locked", "kept", "free"),
    [
        ("customer.email", {"/customer/email"}, "/customer/vip"),
        ("customer", {"/customer"}, "/speed"),
        ("lines", {"/lines"}, "/tags/-"),
        ("lines.0.sku", {"/lines/0/sku"}, "/lines/1/sku"),
        ("speed", {"/speed"}, "/lines/-"),
        ("customer.vip", {"/customer/vip"}, "/customer/email"),
    ],
)
def test_what_the_rule_keeps_has_no_control(locked: str, kept: set[str], free: str) -> None:
    found = made(locked=(locked,))
    assert {path for path, one in found.items() if one.control == "locked"} == kept
    assert all(found[path].is_ruled for path in kept)
    assert found[free].control != "locked"
    assert after({f"f:{path}": "forged" for path in kept}, locked=(locked,)) == CALL


def test_a_list_with_something_locked_inside_keeps_its_items_in_their_places() -> None:
    found = made(locked=("lines.1.sku",))
    assert "/lines/-" not in found
    assert not any(one.item.startswith("/lines") for one in found.values())
    assert after({"x:/lines/0": "1", "f:/lines/-": "{}"}, locked=("lines.1.sku",)) == CALL


def test_secrets_inside_are_locked_one_by_one() -> None:
    text = '{"customer":{"email":"a","password":"hunter2","code":"4711"},"lines":[{"api_key":"k"}]}'
    found = made(text, secret=("/customer/code",))
    locked = {path for path, one in found.items() if one.control == "locked"}
    assert locked == {"/customer/password", "/customer/code", "/lines/0/api_key"}
    assert not any("hunter2" in repr(one) or "4711" in repr(one) for one in found.values())
    assert found["/customer/email"].control == "text"


@pytest.mark.parametrize(
    "value",
    [
        list(range(MOST_INSIDE + 1)),
        [[0] * 30, [0] * 30],
        {str(at): at for at in range(99)},
        [],
        {},
        [[[[[[[[1]]]]]]]],
    ],
)
def test_what_is_huge_empty_or_deep_is_one_text(value: Any) -> None:
    text = canonical.canonical(json.dumps({"v": value}))
    found = fields("", text)
    assert all(one.path.count("/") <= 7 for one in found)
    assert len(found) <= 8
    assert [one.control for one in found if not one.adds] == ["json"]


def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = '{"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}},"properties":{"v":{"$ref":"#/$defs/A"}}}'
    assert [one.control for one in fields(loop, '{"v":1}')] == ["number"]
