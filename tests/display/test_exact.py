"""A state's exact values on the page: the value, not the object that marks it; and nothing hidden by a mark."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from reviewhub_agents import canonical, exact
from reviewhub_agents.exact import OpaqueBytes

from reviewhub.core.display.arguments import Row, rows
from reviewhub.web.talk import talk
from tests.agents.values import BERLIN, TYPES, VALUES, Line, Point, Right, Shop, Stamp


class Role(enum.StrEnum):
    ASSISTANT = "assistant"


def shown(row: Row) -> str:
    return "".join(piece.text for piece in row.segments)


def name(row: Row) -> str:
    return "".join(piece.text for piece in row.name)


def page(state: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and type of each row."""
    text = canonical.dumps(exact.pack(state, types=TYPES))
    return [(name(row), shown(row), row.type) for row in rows(text, packed=True).rows]


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        (Decimal("12.50"), "12.50", "decimal"),
        (float("nan"), "NaN", "number"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00", "time"),
        (datetime(2026, 7, 1, tzinfo=BERLIN), "2026-07-01T00:00:00+02:00 Europe/Berlin", "time"),
        (Shop.Order.Status.OPEN, "Status.OPEN", "enum tests.agents.values.Shop.Order.Status"),
        (Right.READ | Right.SHARE, "Right.READ | SHARE", "enum tests.agents.values.Right"),
        (b"\xff\x00", "2 bytes, base64 /wA=", "bytes"),
        (b"", "0 bytes", "bytes"),
        ("a\0\ud800", r"a\u0000\ud800", "text with escapes"),
        ((), "( )", "empty tuple"),
        (set(), "{ }", "empty set"),
        ([], "[ ]", "empty list"),
        ({}, "{ }", "empty object"),
        (
            OpaqueBytes(b"x", "application/x"),
            "1 bytes of application/x, SHA-256 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            "opaque bytes",
        ),
    ],
)
def test_a_single_value_is_shown_as_what_it_is(value: Any, text: str, kind: str) -> None:
    assert page({"a": value}) == [("a", text, kind)]


def test_what_is_inside_has_the_names_that_the_agent_uses() -> None:
    state = {
        "t": (1, Decimal("2.0")),
        "s": {1},
        "k": {(1, 2): "x", None: {"$rh": 3}, Decimal("1.5"): 4},
        "l": Line(sku="A", price=Decimal("1.10")),
        "p": [Point(1, Stamp((7,)))],
        "$rh": "mine",
    }
    assert {row[:2] for row in page(state)} == {
        ("t/0", "1"),
        ("t/1", "2.0"),
        ("s/0", "1"),
        ("k/(1, 2)", "x"),
        ("k/null/$rh", "3"),
        ("k/1.5", "4"),
        ("l/sku", "A"),
        ("l/price", "1.10"),
        ("l/status", "Status.OPEN"),
        ("l/more", "null"),
        ("p/0/x", "1"),
        ("p/0/y/value/0", "7"),
        ("$rh", "mine"),
    }


def test_the_path_of_a_row_is_that_of_the_stored_state() -> None:
    text = canonical.dumps(exact.pack({"a": ({1: (5,)},)}))
    (row,) = rows(text, packed=True).rows
    assert row.path == "/a/value/0/value/0/1/value/0"
    assert name(row) == "a/0/1/0"


@pytest.mark.parametrize(
    "tree",
    [
        '{"$rh":"decimal"}',
        '{"$rh":"decimal","value":[1]}',
        '{"$rh":"dict","value":[[1]]}',
        '{"$rh":"enum","type":1}',
        '{"$rh":"matrix","value":"x"}',
        '{"$rh2":1}',
        '{"$rh":"object","value":7}',
    ],
)
def test_a_mark_that_nobody_understands_is_shown_as_it_is_stored(tree: str) -> None:
    found = rows(f'{{"a":{tree}}}', packed=True).rows
    assert found and all(name(row).startswith("a/") for row in found)
    assert [name(row) for row in rows(f'{{"a":{tree}}}').rows] == [name(row) for row in found]


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_every_value_has_a_page(value: Any) -> None:
    for row in rows(canonical.dumps(exact.pack({"a": [value]}, types=TYPES)), packed=True).rows:
        (shown(row) + name(row)).encode()


def test_a_tool_calls_arguments_are_shown_as_the_json_that_runs() -> None:
    (mark, value) = rows('{"amount":{"$rh":"decimal","value":"12.50"}}').rows
    assert (name(mark), name(value)) == ("amount/$rh", "amount/value")


def test_secrets_stay_hidden_inside_exact_values() -> None:
    text = canonical.dumps(exact.pack({"api_key": ("hunter2-and-more",), 7: {"password": b"hunter2"}}))
    found = rows(text, packed=True).rows
    assert all(row.secret for row in found)
    assert "hunter2" not in "".join(map(shown, found))


def test_the_conversation_is_read_from_messages_kept_with_their_types() -> None:
    state = {
        "messages": ({"role": "user", "content": "half \ud83c"}, {"role": Role.ASSISTANT, "content": "ok"})
    }
    said = talk(canonical.dumps(exact.pack(state))).said
    assert [one.is_agent for one in said] == [False, True]
    assert ["".join(piece.text for piece in one.segments) for one in said] == ["half \\ud83c", "ok"]
