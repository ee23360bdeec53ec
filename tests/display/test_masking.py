"""What is masked, and that a hostile schema neither hangs it nor makes it tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.core.display import masking, write_only
from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.masking import masked
from reviewhub.core.display.write_only import write_only_paths


def paths(schema: Any, value: Any) -> set[str]:
    return set(write_only_paths(json.dumps(schema), json.dumps(value)))


SECRET = {"writeOnly": True}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"properties": {"a": SECRET}}, {"a": {"b": [1]}, "c": 1}, {"/a", "/a/b", "/a/b/0"}),
        ({"properties": {"a": {"writeOnly": "yes"}}}, {"a": 1}, set()),
        ({"items": SECRET}, [1], {"/0"}),
        ({"items": [True, SECRET]}, [1, 2, 3], {"/1"}),
        ({"prefixItems": [True], "items": SECRET}, [1, 2], {"/0", "/1"}),
        ({"patternProperties": {"(a+)+$": SECRET}}, {"a" * 40 + "b": 1}, {"/" + "a" * 40 + "b"}),
        ({"properties": {"a": True}, "additionalProperties": SECRET}, {"a": 1, "b": 2}, {"/b"}),
        ({"allOf": [{"if": {}, "then": {"properties": {"a": SECRET}}}]}, {"a": 1}, {"/a"}),
        ({"$ref": "#/$defs/x~1y", "$defs": {"x/y": {"properties": {"a": SECRET}}}}, {"a": 1}, {"/a"}),
        ({"$ref": "#/$defs/none"}, {"a": 1}, set()),
        ({"$ref": "elsewhere.json"}, {"a": 1}, set()),
        (
            {
                "$ref": "#/$defs/node",
                "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "s": SECRET}}},
            },
            {"next": {"next": {"s": 1}}},
            {"/next/next/s"},
        ),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
            {"a": 1},
            set(),
        ),
    ],
)
def test_marks_are_found_wherever_a_schema_may_put_them(schema: Any, value: Any, found: set[str]) -> None:
    assert paths(schema, value) == found


def test_a_schema_that_takes_too_long_hides_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_only, "MOST_STEPS", 20)
    within = {"anyOf": [{"properties": {"x": SECRET}} for _ in range(9)]}
    schema = {"anyOf": [{"properties": {"a": within}} for _ in range(9)]}
    assert paths(schema, {"a": 1, "b": [2]}) == {"", "/a", "/b", "/b/0"}


def levels(last: Any) -> dict[str, Any]:
    """Each of twelve levels is four times the next: 16 million ways down."""
    named = {f"l{at}": {"anyOf": [{"$ref": f"#/$defs/l{at + 1}"}] * 4} for at in range(12)}
    return {"$defs": {**named, "l12": last}, "properties": {"a": {"$ref": "#/$defs/l0"}}}


PAIRS = [[at, {"x": at}] for at in range(3000)]


@pytest.mark.parametrize(
    ("schema", "value", "hides"),
    [
        (levels({"type": "string"}), {"a": PAIRS}, False),
        (levels({"items": {"items": {"properties": {"x": SECRET}}}}), {"a": PAIRS}, True),
        (
            {"properties": {"a": {"anyOf": [{"title": str(at)} for at in range(200)]}}},
            {"a": [0] * 30_000},
            False,
        ),
        ({"properties": {"a": {"items": {"anyOf": [{"items": SECRET}] * 200}}}}, {"a": [[]] * 3000}, True),
        ({"properties": {"a": {"anyOf": [{"items": {"p": SECRET}}] * 200}}}, {"a": [0] * 3000}, False),
        ({"properties": {"a": {"anyOf": [{"writeOnly": True}] * 200}}}, {"a": [0] * 3000}, True),
        (
            {"patternProperties": {str(at): {} for at in range(2000)}},
            {str(at): 0 for at in range(5000)},
            False,
        ),
        (
            {"patternProperties": {str(at): SECRET for at in range(200)}},
            {str(at): 0 for at in range(5000)},
            True,
        ),
    ],
)
def test_a_hostile_schema_costs_what_a_harmless_one_does(
    schema: Any, value: Any, hides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In steps, whatever the product of schema and value is; and what it hides, it hides whole."""
    steps = 0

    def counted(path: str, key: Any) -> str:
        nonlocal steps
        steps += 1
        return pointer(path, key)

    monkeypatch.setattr(write_only, "pointer", counted)
    assert bool(paths(schema, value)) is hides
    assert steps <= write_only.MOST_STEPS + 10_000


def test_numbers_and_words_are_masked_and_the_rest_keeps_its_bytes() -> None:
    text = '{"amount":12.50,"none":null,"otp":123456,"password":"hunter2","yes":true}'
    assert json.loads(masking.canonical.dumps(masked(text))) == {
        "amount": 12.50,
        "none": None,
        "otp": "••••••••",
        "password": "••••••••",
        "yes": True,
    }
    assert "12.50" in masking.canonical.dumps(masked(text))
