"""Changes of a state by its parts make what the same changes of its whole text make, and touch nothing else."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.checkpoints.difference import between
from reviewhub.checkpoints.edit import edited
from reviewhub.checkpoints.tree import State, read_state
from reviewhub.checkpoints.values import Items, Members, Text
from reviewhub.core.changes import Change, apply_changes, parse_changes
from reviewhub.core.errors import Invalid, TooLarge

MOST = 10_000_000
BIG = "long text " * 200


def state(**fields: Any) -> State:
    return read_state(canonical.dumps(fields))


def steps(*given: tuple[Any, ...]) -> tuple[Change, ...]:
    tree = [{"op": op, "path": path, **({"value": value[0]} if value else {})} for op, path, *value in given]
    return parse_changes(canonical.parse(canonical.dumps(tree)))


WIDE = {f"k{n}": BIG for n in range(20)} | {"list": [1, {"a": [2]}]}
START: dict[str, Any] = {"n": 1, "log": ["a", {"t": "b"}, "c"], "wide": WIDE, "o": {"x": {"y": 1}}}


@pytest.mark.parametrize(
    "given",
    [
        [("set", "/n", 2)],
        [("set", "/log/1/t", "B"), ("insert", "/log/1", "new"), ("remove", "/log/0")],
        [("insert", "/log/-", {"t": 1}), ("set", "/log/3/t", 2)],
        [("remove", "/log/0")] * 3,
        [("set", "/wide/k3", [1, 2]), ("remove", "/wide/k4"), ("insert", "/wide/new", {})],
        [("set", "/wide/list/1/a/0", 3), ("insert", "/wide/list/0", 0)],
        [("remove", f"/wide/k{n}") for n in range(20)],
        [("set", "/o/x", {"big": BIG * 20}), ("set", "/o/x/z", 1)],
        [("insert", "/new", {"a": 1}), ("set", "/new/a", 2), ("remove", "/n")],
        [("set", "/log", "no list"), ("set", "/wide", [])],
        [("set", "/log/2", {"deep": [[[1]]]}), ("set", "/log/2/deep/0/0/0", 5)],
    ],
)
def test_the_same_as_changing_the_text(given: list[tuple[Any, ...]]) -> None:
    before = state(**START)
    changes = steps(*given)
    after = edited(before, changes, max_bytes=MOST)
    assert after.text == apply_changes(before.text, changes)
    assert after.state_hash == read_state(after.text).state_hash
    kinds = {name: type(value) for name, value in after.values.items()}
    assert kinds == {name: type(value) for name, value in read_state(after.text).values.items()}


def test_random_changes_are_the_same_too() -> None:
    dice = random.Random(5)
    for _ in range(150):
        given: list[tuple[Any, ...]] = []
        for _ in range(dice.randrange(1, 5)):
            path = dice.choice(
                ["/log/0", "/log/1/t", "/log/-", "/wide/k1", "/wide/list/1", "/n", "/x", "/o/x/y"]
            )
            op = dice.choice(["set", "insert", "remove"])
            given.append((op, path) if op == "remove" else (op, path, dice.choice([1, "t", [1], {"t": 2}])))
        changes, before = steps(*given), state(**copy.deepcopy(START))
        assert _result(lambda: edited(before, changes, max_bytes=MOST).text) == _result(  # noqa: B023
            lambda: apply_changes(before.text, changes)  # noqa: B023
        )


def _result(act: Any) -> Any:
    try:
        return act()
    except Invalid as error:
        return error.errors


def test_only_what_a_change_names_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(**START)
    changes = steps(("set", "/log/1/t", "B"))
    parsed: list[str] = []
    parse = canonical.parse
    monkeypatch.setattr(canonical, "parse", lambda text, **most: parsed.append(text) or parse(text, **most))
    after = edited(before, changes, max_bytes=MOST)
    assert parsed == ['{"t":"b"}', '"B"', '[[{"t":"B"}]]']
    for name in ("n", "wide", "o"):
        assert after.values[name] is before.values[name]
    assert isinstance(after.values["log"], Items)


def test_what_becomes_small_is_kept_as_what_is_small() -> None:
    before = state(**START)
    assert isinstance(before.values["wide"], Members)
    after = edited(before, steps(*[("remove", f"/wide/k{n}") for n in range(20)]), max_bytes=MOST)
    assert isinstance(after.values["wide"], Text)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([("set", "/n/x", 1)], "unknown_path"),
        ([("set", "/log/9", 1)], "out_of_range"),
        ([("insert", "/n", 1)], "exists"),
        ([("remove", "")], "root"),
        ([("set", "n", 1)], "invalid_path"),
    ],
)
def test_what_does_not_fit_is_refused_by_path(given: list[tuple[Any, ...]], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        edited(state(**START), steps(*given), max_bytes=MOST)
    assert (refused.value.errors[0]["path"], refused.value.errors[0]["code"]) == ("/changes/0/path", code)


def test_what_is_too_deep_or_too_large_is_refused() -> None:
    deep: Any = 1
    for _ in range(canonical.MAX_DEPTH - 3):
        deep = [deep]
    before = state(log=[{"a": 1}])
    assert edited(before, steps(("set", "/log/0", deep)), max_bytes=MOST)
    with pytest.raises(Invalid):
        edited(before, steps(("set", "/log/0/a", [deep])), max_bytes=MOST)
    with pytest.raises(TooLarge):
        edited(before, steps(("set", "/log", "x" * 99)), max_bytes=100)


def test_a_large_value_differs_as_a_whole_when_no_bytes_are_left() -> None:
    old, new = state(a=BIG, z=1), state(a=BIG + "!", z=2)
    whole, small = between(old, new, most_bytes=1000).changes
    assert (whole.path, whole.is_whole, whole.after) == ("/a", True, canonical.dumps(BIG + "!"))
    assert (small.path, small.is_whole) == ("/z", True), "nothing is left for it either"
    assert not any(one.is_whole for one in between(old, new).changes)


def test_of_a_long_difference_no_more_is_parsed_than_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = state(log=list(range(100_000))), state(log=list(range(1, 100_001)))
    parsed: list[str] = []
    parse = canonical.parse
    monkeypatch.setattr(canonical, "parse", lambda text, **most: parsed.append(text) or parse(text, **most))
    found = between(old, new, most=50)
    assert (len(found.changes), found.more) == (50, True)
    assert len(parsed) <= 2 * 51
