"""What of a state is not as its schema says: all of it, by path, and no more work than what changed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from reviewhub_agents import canonical
from reviewhub_agents.runtime import StateType

from reviewhub.checkpoints import misfits as module
from reviewhub.checkpoints.misfits import MAX_PATH, MOST, misfits_of
from reviewhub.checkpoints.tree import State, read_state, standing_on
from reviewhub.core.schemas.validate import Check, compiled, fingerprint
from tests.runtime.exact_agent import Basket, full

CHAT = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "items": {"$ref": "#/$defs/message"}, "maxItems": 6},
        "count": {"type": "integer", "minimum": 0},
        "notes": {"type": ["array", "null"], "items": {"type": "string"}},
    },
    "required": ["messages"],
    "additionalProperties": {"type": "string"},
    "$defs": {
        "message": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    },
}


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_memory", module._Memory())


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were evaluated."""
    found: list[str] = []
    faults = Check.faults

    def noted(self: Check, part: Any, text: str, **more: Any) -> Any:
        found.append(text)
        return faults(self, part, text, **more)

    monkeypatch.setattr(Check, "faults", noted)
    return found


def of(state: State | Any, schema: Any = CHAT, before: State | None = None) -> list[tuple[str, str]]:
    text = canonical.dumps(schema)
    made = state if isinstance(state, State) else read_state(json.dumps(state))
    found = misfits_of(made, schema=compiled(text), mark=fingerprint(text), before=before)
    return [(one.path, one.code) for one in found]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"messages": [], "count": 1, "other": "text"}, []),
        ({}, [("/messages", "required")]),
        ({"messages": {}}, [("/messages", "type")]),
        ({"messages": [{"text": "a"}, {}]}, [("/messages/1/text", "required")]),
        ({"messages": [{"text": "a"}, {"text": 1}]}, [("/messages/1/text", "type")]),
        ({"messages": [{"text": "a"}] * 7, "count": -1}, [("/count", "minimum"), ("/messages", "maxItems")]),
        ({"messages": [], "x/y~z": 1}, [("/x~1y~0z", "type")]),
        ({"messages": [], "notes": ["a", 1]}, [("/notes/1", "type")]),
    ],
)  # fmt: skip
def test_every_misfit_has_its_path(state: Any, expected: Any) -> None:
    assert of(state) == expected


@pytest.mark.parametrize(
    ("schema", "state", "expected"),
    [
        (False, {"a": 1}, [("", "not_allowed")]),
        (True, {"a": 1}, []),
        ({"$ref": "#/$defs/s", "$defs": {"s": {"required": ["a"]}}}, {}, [("/a", "required")]),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, [("/b", "additionalProperties")]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"c": 1}, [("", "anyOf")]),
        ({"patternProperties": {"^n": {"type": "number"}}}, {"na": "x"}, [("/na", "type")]),
        ({"properties": {"a": {"const": 1}}, "maxProperties": 0}, {"a": 2}, [("", "maxProperties"), ("/a", "const")]),
        ({"type": "array"}, {}, [("", "type")]),
    ],
)  # fmt: skip
def test_schemas_of_any_form(schema: Any, state: Any, expected: Any) -> None:
    assert sorted(of(state, schema)) == expected


@pytest.mark.parametrize("basket", [Basket(), Basket(**full())])
def test_a_models_states_fit_its_schema(basket: Basket) -> None:
    states = StateType("basket", Basket)
    text = states.dump(basket)
    assert of(read_state(text), states.schema) == []
    tree = json.loads(text)
    for name in tree:
        # Nothing of what is in the state passes as something else.
        if name != "anything":
            assert of(tree | {name: {"$rh": "other"}}, states.schema), name


@pytest.mark.parametrize(
    ("value", "type_", "fits"),
    [
        ({"$rh": "text", "value": "a\\u0000"}, "string", True),
        ({"$rh": "text", "value": "\\u00"}, "string", False),
        ({"$rh": "integer", "value": "-ff"}, "integer", True),
        ({"$rh": "integer", "value": "xyz"}, "integer", False),
        ({"$rh": "float", "value": "NaN"}, "number", True),
        ({"$rh": "float", "value": "Infinity"}, "integer", False),
        ({"$rh": "float", "value": "1.5"}, "number", False),
        ({"$rh": "decimal", "value": "1.5"}, "number", False),
        ({"$rh": "decimal", "value": "1.5"}, "object", True),
        ({"$$rh": "decimal"}, "object", True),
    ],
)
def test_marks_that_only_write_what_json_has_a_type_for(value: Any, type_: str, fits: bool) -> None:
    assert (of({"a": value}, {"properties": {"a": {"type": type_}}}) == []) is fits


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    "keyword", [{"minimum": 0, "maximum": 9}, {"multipleOf": 2}, {"enum": [1]}, {"const": 1}]
)
def test_floats_that_json_lacks_are_no_ordinary_numbers(value: str, keyword: Any) -> None:
    assert of({"a": {"$rh": "float", "value": value}}, {"properties": {"a": keyword}})
    assert of(
        {"a": [{"$rh": "float", "value": value}] * 2}, {"properties": {"a": {"uniqueItems": True}}}
    ) in (
        [],
        [("/a/1", "uniqueItems")],
    )


@pytest.mark.parametrize(
    "state",
    [
        {"$rh": "text", "value": "a\\u0000"},
        {"$rh": "integer", "value": "ff"},
        {"$rh": "float", "value": "NaN"},
        {"$rh": "decimal", "value": "1.50"},
        {"$rh": "dict", "value": [[1, 2]]},
        {"$rh": 1, "n": 3},
    ],
)
def test_a_state_that_is_a_mark_itself_is_an_object_to_schemas_of_any_form(state: Any) -> None:
    for schema in (
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        {"type": "object", "properties": {"$rh": {"type": "number"}}, "additionalProperties": True},
        {"type": "object", "properties": {"$rh": {"type": "string"}}, "additionalProperties": False},
    ):
        by_field, whole = of(state, schema), of(state, {"allOf": [schema]})
        assert sorted(whole) == sorted(by_field)
        assert ("", "type") not in whole
    assert of({"in": state}, {"allOf": [{"properties": {"in": {"type": "object"}}}]}) == (
        [("/in", "type")] if state["$rh"] in ("text", "integer", "float") else []
    )


def test_only_what_changed_is_looked_at(looked_at: list[str]) -> None:
    first = read_state('{"messages":[{"text":"a"},{"text":1}],"count":1,"big":"x"}')
    assert of(first) == [("/messages/1/text", "type")]
    looked_at.clear()
    assert of(first) == [("/messages/1/text", "type")]
    assert looked_at == []
    grown = read_state('{"messages":[{"text":"a"},{"text":1},{"text":"c"},{}],"count":2,"big":"x"}')
    next_ = standing_on(first, grown)
    assert of(next_, before=first) == [("/messages/1/text", "type"), ("/messages/3/text", "required")]
    assert looked_at == ["2", '[{"text":"c"},{}]']


def random_state(rng: random.Random) -> dict[str, Any]:
    messages: list[Any] = [
        {"text": rng.choice(["a", 1])} if rng.random() < 0.8 else {} for _ in range(rng.randrange(8))
    ]
    state: dict[str, Any] = {
        "messages": messages,
        "count": rng.choice([0, -1, "x"]),
        "o": rng.choice(["t", 2]),
    }
    return {name: value for name, value in state.items() if rng.random() < 0.9}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_remembered_changes_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)  # noqa: S311  no secret
    tree, before = random_state(rng), None
    for _ in range(30):
        tree = random_state(rng) if rng.random() < 0.2 else dict(tree)
        if isinstance(tree.get("messages"), list):
            cut = rng.randrange(len(tree["messages"]) + 1)
            tree["messages"] = (
                tree["messages"][:cut] + [{"text": rng.choice(["n", None])}][: rng.randrange(2)]
            )
        state = read_state(json.dumps(tree))
        state = standing_on(before, state) if before else state
        told = of(state, before=before)
        with monkeypatch.context() as fresh:
            fresh.setattr(module, "_memory", module._Memory())
            assert told == of(json.loads(state.text))
        before = state


def test_a_schema_that_takes_too_long_is_a_misfit_of_its_own() -> None:
    defs: dict[str, Any] = {"d0": {"type": "integer"}}
    for number in range(1, 25):
        defs[f"d{number}"] = {"allOf": [{"$ref": f"#/$defs/d{number - 1}"}] * 2}
    schema = {"properties": {"a": {"$ref": "#/$defs/d24"}, "b": {"type": "string"}}, "$defs": defs}
    state = read_state('{"a":1,"b":2}')
    assert ("/a", "unchecked") in of(state, schema)
    assert ("/a", "unchecked") in of(state, schema, before=state)
    assert of({"b": 2}, schema) == [("/b", "type")], "what others used up is not remembered"


def test_what_is_told_is_bounded() -> None:
    state = {"messages": [{}] * 5} | {f"f{number:03}": 1 for number in range(100)}
    assert len(of(state)) == MOST
    deep: Any = 1
    for _ in range(90):
        deep = {"n" * 70: deep}
    nested = {
        "$defs": {"t": {"additionalProperties": {"$ref": "#/$defs/t"}, "type": "object"}},
        "$ref": "#/$defs/t",
    }
    ((path, _),) = of({"a": deep}, nested)
    assert (len(path), path[-1]) == (len("/a") + MAX_PATH, "…")
