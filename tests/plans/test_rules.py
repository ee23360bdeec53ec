"""What a plan may be, how two differ, what becomes of statuses: tables and properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.plans.rules import Difference, because, carried, difference, fault_of, in_order


def tree(text: str) -> list[dict[str, Any]]:
    """`a b(c d) e=Title`: steps with sub-steps in brackets."""
    roots: list[dict[str, Any]] = []
    stack = [roots]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append(stack[-1][-1].setdefault("steps", []))
        elif word == ")":
            stack.pop()
        else:
            name, _, title = word.partition("=")
            stack[-1].append({"id": name, "title": title or name.upper()})
    return roots


def differ(before: str, after: str) -> list[tuple[str, str]]:
    found = difference(in_order(tree(before)), in_order(tree(after)), {}, {})
    return [(one.kind, one.step) for one in found.steps]


def test_reading_order_counts_sub_steps() -> None:
    steps = in_order(tree("a b(c(d) e) f"))
    assert [(one.number, one.id, one.parent, one.depth) for one in steps] == [
        (1, "a", "", 1),
        (2, "b", "", 1),
        (3, "c", "b", 2),
        (4, "d", "c", 3),
        (5, "e", "b", 2),
        (6, "f", "", 1),
    ]
    assert steps[3].path == "/steps/1/steps/0/steps/0"


@pytest.mark.parametrize(
    ("steps", "assumptions", "path", "code"),
    [
        ("", "", "/steps", "missing"),
        ("a b c d e f", "", "/steps", "too_large"),
        ("a(b(c(d(e))))", "", "/steps/0/steps/0/steps/0/steps/0/steps/0", "too_large"),
        ("a b a", "", "/steps/2/id", "named_twice"),
        ("a b(a)", "", "/steps/1/steps/0/id", "named_twice"),
        ("a", "x y x", "/assumptions/2/id", "named_twice"),
    ],
)
def test_what_is_no_plan(steps: str, assumptions: str, path: str, code: str) -> None:
    fault = fault_of(in_order(tree(steps)), [{"id": one} for one in assumptions.split()], most_steps=5)
    assert fault is not None
    assert (fault.path, fault.code) == (path, code)


def test_what_is_a_plan() -> None:
    assert fault_of(in_order(tree("a(b(c(d))) e")), [{"id": "a"}], most_steps=5) is None


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("a b", "a b", []),
        ("a b", "a x b", [("added", "x")]),
        ("a b c", "a c", [("removed", "b")]),
        ("a b c", "c a b", [("moved", "c")]),
        ("a b", "a(b)", [("moved", "b")]),
        ("a b=Old", "a b=New", [("changed", "b")]),
        ("a b=Old", "b=New a", [("moved", "a"), ("changed", "b")]),
        ("a(b c)", "d(b c)", [("removed", "a"), ("added", "d"), ("moved", "b"), ("moved", "c")]),
    ],
)
def test_differences(before: str, after: str, changes: list[tuple[str, str]]) -> None:
    found = differ(before, after)
    if (
        before == "a b=Old" and after == "b=New a"
    ):  # which of two that changed places has moved is a matter of taste
        assert ("changed", "b") in found
        assert len([one for one in found if one[0] == "moved"]) == 1
    else:
        assert found == changes


def test_assumptions_differ_by_their_ids() -> None:
    found = difference([], [], {"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"})
    assert [(one.kind, one.assumption, one.before, one.after) for one in found.assumptions] == [
        ("removed", "a", "1", None),
        ("changed", "c", "3", "4"),
        ("added", "d", None, "5"),
    ]


@pytest.mark.parametrize(
    ("given", "standing", "begins"),
    [
        ({}, {}, {}),
        ({}, {"a": "done", "z": "done"}, {"a": "done"}),
        ({"a": "pending"}, {"a": "done"}, {}),
        ({"b": "running"}, {"a": "failed"}, {"a": "failed", "b": "running"}),
    ],
)
def test_a_new_version_undoes_nothing_that_nobody_mentioned(
    given: dict[str, str], standing: dict[str, str], begins: dict[str, str]
) -> None:
    assert carried(["a", "b"], given=given, standing=standing) == begins


@pytest.mark.parametrize(
    ("kind", "failures", "assumption", "text", "says"),
    [
        ("first", None, "", "", "the first plan"),
        ("failures", 1, "", "", "1 failure"),
        ("failures", 3, "", "closed", "3 failures in a row: closed"),
        ("contradicted", None, "a1", "", "assumption a1 does not hold"),
        ("person", None, "", "", "a person asked for it"),
        ("agent", None, "", "shorter", "shorter"),
        ("agent", None, "", "", "no reason given"),
    ],
)
def test_why_in_words(kind: str, failures: int | None, assumption: str, text: str, says: str) -> None:
    assert because(kind, failures=failures, assumption=assumption, text=text) == says


IDS = "abcdefgh"


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A plan of some of eight steps, each under the top or under one before it."""
    roots: list[dict[str, Any]] = []
    known: list[dict[str, Any]] = []
    for name in draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1)):
        step = {"id": name, "title": draw(st.sampled_from("xy"))}
        under = draw(st.sampled_from([None, *range(len(known))]))
        home = roots if under is None else known[under].setdefault("steps", [])
        home.insert(draw(st.integers(0, len(home))), step)
        known.append(step)
    return roots


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Difference:
    return difference(in_order(before), in_order(after), {}, {})


@given(plans(), plans())
def test_a_difference_tells_everything_and_nothing_else(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    was, now = ({one.id: one for one in in_order(each)} for each in (before, after))
    told: dict[str, set[str]] = {}
    for one in compared(before, after).steps:
        told.setdefault(one.kind, set()).add(one.step)
    assert told.get("removed", set()) == was.keys() - now.keys()
    assert told.get("added", set()) == now.keys() - was.keys()
    both = was.keys() & now.keys()
    assert told.get("changed", set()) == {one for one in both if was[one].title != now[one].title}
    stayed = both - told.get("moved", set())
    assert all(was[one].parent == now[one].parent for one in stayed)
    for parent in {was[one].parent for one in stayed}:
        orders = [
            [one for one in side if one in stayed and side[one].parent == parent] for side in (was, now)
        ]
        assert orders[0] == orders[1]


@given(plans())
def test_equal_plans_do_not_differ(plan: list[dict[str, Any]]) -> None:
    assert compared(plan, plan) == Difference(steps=[], assumptions=[])


@given(plans(), plans())
def test_backwards_what_was_added_is_removed(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    there = {one.step for one in compared(before, after).steps if one.kind == "added"}
    back = {one.step for one in compared(after, before).steps if one.kind == "removed"}
    assert there == back
