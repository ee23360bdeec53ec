"""When a field is above its budget, and how tokens are estimated: pure."""

from __future__ import annotations

import pytest
from reviewhub_agents.weight import tokens, weigh

from reviewhub.budgets.rules import NAME_CHARACTERS, Budget, FieldWarning, percent, warnings

MB = 1_000_000


@pytest.mark.parametrize(
    ("sizes", "grown", "budget", "expected"),
    [
        ({"a": 10}, {}, Budget(), []),
        ({"a": MB}, {"a": MB}, Budget(), []),
        ({"a": 100}, {}, Budget(field_bytes=100), []),
        ({"a": 101}, {}, Budget(field_bytes=100), [("a", "size", 101, 100)]),
        ({"a": 101}, {}, Budget(field_bytes=100, fields={"a": 200}), []),
        ({"a": 101}, {}, Budget(field_bytes=100, fields={"a": 0}), []),
        ({"a": 101, "b": 101}, {}, Budget(fields={"b": 50}), [("b", "size", 101, 50)]),
        ({"a": 300}, {"a": 50}, Budget(step_bytes=50), []),
        ({"a": 300}, {"a": 51}, Budget(step_bytes=50), [("a", "growth", 51, 50)]),
        ({"a": 300}, {"a": -51}, Budget(step_bytes=50), []),
        ({"a": 300}, None, Budget(step_bytes=50), []),
        (
            {"a": 300, "b": 400},
            {"a": 90},
            Budget(field_bytes=200, step_bytes=50),
            [("b", "size", 400, 200), ("a", "growth", 90, 50), ("a", "size", 300, 200)],
        ),
    ],
)
def test_what_is_warned_of(
    sizes: dict[str, int],
    grown: dict[str, int] | None,
    budget: Budget,
    expected: list[tuple[str, str, int, int]],
) -> None:
    found = warnings(sizes, total=sum(sizes.values()), budget=budget, grown=grown)
    assert [(one.field, one.why, one.bytes, one.limit) for one in found] == expected


def test_a_warning_says_which_share_of_the_state_it_is() -> None:
    (one,) = warnings({"a": 300, "b": 100}, total=400, budget=Budget(field_bytes=200))
    assert one == FieldWarning(field="a", why="size", bytes=300, limit=200, share=75)
    assert (percent(1, 3), percent(2, 3), percent(1, 1000), percent(0, 0)) == (33, 67, 0, 0)


def test_there_are_never_more_than_twenty_and_the_heaviest_come_first() -> None:
    sizes = {f"f{at}": 1000 + at for at in range(10_000)}
    found = warnings(sizes, total=sum(sizes.values()), budget=Budget(field_bytes=10))
    assert [one.field for one in found] == [f"f{9999 - at}" for at in range(20)]


def test_a_long_name_is_cut() -> None:
    (one,) = warnings({"x" * 10_000: 50}, total=50, budget=Budget(field_bytes=10))
    assert one.field == "x" * (NAME_CHARACTERS - 1) + "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("a word", 2),
        ("x" * 4000, 1000),
        ("é" * 10, 5),
        ("Возврат", 4),
        ("退款政策", 4),
        ("สวัสดี", 6),
        ("🎉🎉", 4),
        ("ab退é🎉", 4),  # 2/4 + 1 + 1/2 + 2
    ],
)
def test_tokens_are_estimated_by_script(text: str, expected: int) -> None:
    assert tokens(text) == expected


def test_an_agent_can_weigh_a_state_before_it_sends_it() -> None:
    heavy, light = weigh({"n": {1, 2}, "text": "ä" * 100})
    assert (heavy.name, heavy.bytes, heavy.tokens) == ("text", 202, 51)
    assert (light.name, light.bytes) == ("n", len('{"$rh":"set","items":[1,2]}'))
    assert min(heavy.pack_us, heavy.unpack_us, light.pack_us, light.unpack_us) >= 0
