"""Values that other stores lose or change: here each comes back to the byte, whichever way it came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.fork import fork
from reviewhub.core.errors import Invalid
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import BOB, put, put_message, read

NUMBERS = ["0", "-0", "-0.0", "1E2", "1e2", "100", "1.0", "1.10", "0.1000000000000000055511151231257827"]
NUMBERS += ["9007199254740993", "-" + "9" * 400, "1E999", "5e-324", "1E-999", "0E0", "18446744073709551616"]
TEXTS = [
    "",
    " ",
    "\n",
    "\r\n",
    "\t\b\f",
    "\\",
    '"',
    "/",
    "\x7f",
    "\u0080",
    "\u2028\u2029",
    "\ufeff",
    "\u200b\u202e",
]
TEXTS += ["é", "e\u0301", "🍸", "\U0010ffff", "\ue000", "\x01\x1f", "null", "\\u0000", "[1]", "\n[[]]\n"]
KEYS = [*TEXTS, "__proto__", "$ref", "=", "#", "{", "-", "[", "lc", "__type__"]
OTHERS: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    {"": {}},
    [None],
    {"a": [[[]]]},
    [[], "", {}, None, False],
]
OTHERS += [{"lc": 1, "type": "constructor", "id": ["os", "system"]}, {"__type__": "datetime", "value": "x"}]
VALUES = [canonical.Number(literal) for literal in NUMBERS] + TEXTS + [dict.fromkeys(KEYS, "v")] + OTHERS


def named(value: Any) -> str:
    return ascii(canonical.dumps(value))[:40]


@pytest.mark.parametrize("size", ["small", "large", "wide"])
@pytest.mark.parametrize("value", VALUES, ids=named)
def test_a_value_comes_back_whichever_way_it_came(branch: Branch, value: Any, size: str) -> None:
    """Inline, in a blob and in a wide object; whole, changed, appended, forked and rewritten around."""
    rest: Any = {"small": "x", "large": "x" * 300, "wide": {f"k{n}": "x" * 300 for n in range(60)}}[size]
    held: Any = {**rest, "v": value, "l": [value]} if isinstance(rest, dict) else [rest, value]
    first = put(branch, canonical.dumps({"a": value, "held": held, "list": [value, rest]}))
    tree = {"a": value, "held": held, "list": [value, rest]}
    assert reread(first) == canonical.dumps(tree)
    hints = {"changed": {"b": held}, "append": {"list": [value, held]}, "unchanged": ["a", "held"]}
    second = put_message(branch, {**hints, "parent": str(first.id), "parent_hash": first.state_hash})
    tree = {**tree, "b": held, "list": [value, rest, value, held]}
    assert reread(second) == canonical.dumps(tree)
    changes: list[Any] = [{"op": "set", "path": "/list/0", "value": held}, {"op": "remove", "path": "/a"}]
    _, third = fork(checkpoint=second, name=None, changes=changes, reason="", actor=BOB)
    del tree["a"]
    assert reread(third) == canonical.dumps({**tree, "list": [held, rest, value, held]})


def reread(checkpoint: Any) -> str:
    """As a process reads it that knows nothing."""
    recall.forget_all()
    return read(checkpoint)


@pytest.mark.parametrize("place", ["field", "name", "item", "member", "key"])
@pytest.mark.parametrize("bad", ["\x00", "\ud800", "x\udfff"])
def test_text_that_no_database_keeps_is_refused_by_path(branch: Branch, place: str, bad: str) -> None:
    parent = put(branch, '{"log":[]}')
    tree: dict[str, Any] = {
        "field": {"a": bad},
        "name": {bad: 1},
        "item": {"a": ["ok", bad]},
        "member": {"a": {"b": bad}},
        "key": {"a": {bad: 1}},
    }[place]
    path = {"field": "/a", "name": "/", "item": "/a/1", "member": "/a/b", "key": "/a/"}[place]
    with pytest.raises(Invalid) as refused:
        put_message(branch, {"state": tree})
    assert refused.value.errors[0]["path"].startswith("/checkpoint" + path)
    hints = {
        "changed": tree,
        "unchanged": ["log"],
        "parent": str(parent.id),
        "parent_hash": parent.state_hash,
    }
    with pytest.raises(Invalid):
        put_message(branch, hints)
    append = {**hints, "changed": {}, "unchanged": [], "append": {"log": [tree]}}
    with pytest.raises(Invalid):
        put_message(branch, append)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), (1,), {1: 2}, b"x", object()], ids=ascii)
def test_what_is_no_json_is_refused(branch: Branch, bad: Any) -> None:
    with pytest.raises(Invalid):
        put_message(branch, {"state": {"a": [bad]}})


def test_keys_stand_in_the_order_of_their_code_points(branch: Branch) -> None:
    """A surrogate pair sorts behind U+E000 as a code point, and before it as UTF-16."""
    names = ["\U0001f378", "\ue000", "Z", "a", "", "é"]
    wide = dict.fromkeys(names, "x" * 4000)
    saved = put(branch, json.dumps({"w": wide, **dict.fromkeys(names, 1)}, ensure_ascii=False))
    assert list(json.loads(reread(saved))["w"]) == sorted(names)
    assert list(json.loads(reread(saved))) == sorted([*names, "w"])
