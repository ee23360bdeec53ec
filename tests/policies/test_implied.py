"""Which conditions hold wherever another does: never claimed wrongly, and known of what tiers are made of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.policies.arguments import Arguments
from reviewhub.policies.conditions import test as asked
from reviewhub.policies.implied import implied
from reviewhub.policies.model import Condition
from reviewhub.policies.reading import cautions, parse_policy


def condition(test: str, value: object = None) -> Condition:
    return Condition(path="a", test=test, value=value)  # type: ignore[arg-type]


numbers = st.sampled_from([-1, 0, 4, 5, 5.5, 500])
texts = st.sampled_from(["a", "ab", "abc", "b", "é"])
conditions = st.one_of(
    st.builds(
        condition, st.sampled_from(["is_over", "is_at_least", "is_under", "is_at_most", "is"]), numbers
    ),
    st.builds(
        condition,
        st.sampled_from(["is", "is_not", "contains", "contains_not", "starts_with", "ends_with"]),
        texts,
    ),
    st.builds(
        condition,
        st.sampled_from(["is_one_of", "is_none_of"]),
        st.lists(st.one_of(numbers, texts), min_size=1, max_size=3).map(tuple),
    ),
    st.sampled_from([condition("is_there"), condition("is_missing"), condition("is", True)]),
)
values = st.one_of(
    numbers, texts, st.sampled_from(["5", "5.0", "500", "AB", None, True, [], ["ab"], ["ab", "x"], {}])
)


@given(conditions, conditions, values, st.booleans())
def test_it_is_never_claimed_wrongly(wide: Condition, by: Condition, value: object, lets_run: bool) -> None:
    arguments = Arguments(json.dumps({"a": value}, ensure_ascii=False))
    if implied(wide, by, exactly=True) and asked(by, arguments, lets_run=lets_run).holds:
        assert asked(wide, arguments, lets_run=lets_run).holds


@pytest.mark.parametrize(
    ("wide", "by", "yes"),
    [
        (("is_over", 500), ("is_over", 5000), True),
        (("is_over", 5000), ("is_over", 500), False),
        (("is_over", 500), ("is_at_least", 500), False),
        (("is_at_least", 500), ("is_over", 500), True),
        (("is_at_most", 50), ("is_under", 50), True),
        (("is_under", 50), ("is_over", 1), False),
        (("is_over", 500), ("is", 501), True),
        (("is_over", 500), ("is_one_of", (501, 9000)), True),
        (("is_over", 500), ("is", True), False),
        (("is_there", None), ("is_over", 1), True),
        (("is_there", None), ("is_missing", None), False),
        (("is_one_of", ("DE", "FR")), ("is", "FR"), True),
        (("is_one_of", ("DE", "FR")), ("is_one_of", ("FR", "IT")), False),
        (("starts_with", "a"), ("starts_with", "ab"), True),
        (("ends_with", "@x.com"), ("is", "me@x.com"), True),
    ],
)
def test_what_tiers_are_made_of(wide: tuple[str, object], by: tuple[str, object], yes: bool) -> None:
    assert implied(condition(*wide), condition(*by), exactly=True) is yes


@pytest.mark.parametrize(
    ("first", "then", "warned"), [(500, 5000, True), (5000, 500, False), (500, 500, True)]
)
def test_a_tier_that_another_one_hides_is_warned_of(first: int, then: int, warned: bool) -> None:
    rules = [
        {"name": name, "tool": "refund", "action": "require", "approvals": approvals, "when": [
            {"path": "amount", "test": "is_over", "value": over}]}
        for name, over, approvals in (("One", first, 1), ("Two", then, 2))
    ]  # fmt: skip
    found = cautions(parse_policy(json.dumps({"rules": rules})))
    assert [(one.rule, one.code) for one in found] == ([("Two", "hidden")] if warned else [])
