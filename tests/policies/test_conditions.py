"""Simple tests of arguments: yes, no, or not to be decided. Mallory's agent spells values another way."""

from __future__ import annotations

import json
from time import thread_time

import pytest

from reviewhub.policies.arguments import Arguments
from reviewhub.policies.conditions import test as put_to_the_test
from reviewhub.policies.model import Condition
from reviewhub.policies.readings import MOST_FOLDED, MOST_MARKS


def said(arguments: str, path: str, name: str, value=None, *, lets_run: bool = False):
    return put_to_the_test(
        Condition(path=path, test=name, value=value), Arguments(arguments), lets_run=lets_run
    ).holds


TABLE = [
    # arguments, path, test, value, holds
    ('{"a":501}', "a", "is_over", 500, True),
    ('{"a":500}', "a", "is_over", 500, False),
    ('{"a":500}', "a", "is_at_least", 500, True),
    ('{"a":499.99}', "a", "is_under", 500, True),
    ('{"a":5E2}', "a", "is_at_most", 500, True),
    ('{"a":0.1}', "a", "is_over", 0.1, False),
    # Money is sent as text.
    ('{"a":"500.01"}', "a", "is_over", 500, True),
    ('{"a":"-1"}', "a", "is_under", 0, True),
    ('{"a":9007199254740993}', "a", "is_over", 9007199254740992, True),
    ('{"a":9223372036854775807}', "a", "is_at_least", 9223372036854775807, True),
    # Missing, null, of another type, or not exact: nobody knows.
    ("{}", "a", "is_over", 500, None),
    ('{"a":null}', "a", "is_over", 500, None),
    ('{"a":true}', "a", "is_over", 500, None),
    ('{"a":"5e2"}', "a", "is_over", 500, None),
    ('{"a":" 600"}', "a", "is_over", 500, None),
    ('{"a":"\u0666\u0660\u0660"}', "a", "is_over", 500, None),
    ('{"a":[600]}', "a", "is_over", 500, None),
    ('{"a":9223372036854775808}', "a", "is_over", 500, None),
    ('{"a":500.00000000000000000001}', "a", "is_over", 500, None),
    ('{"a":1E400}', "a", "is_over", 500, None),
    ('{"a":9007199254740993.5}', "a", "is_over", 500, None),
    # Paths.
    ('{"a":{"b":[{"c":7}]}}', "a.b.0.c", "is", 7, True),
    ('{"a":{"b":[]}}', "a.b.0.c", "is", 7, None),
    ('{"a":{"b":null}}', "a.b.c", "is", 7, None),
    ('{"a":"b"}', "a.b", "is", 7, None),
    # Equality never mixes types.
    ('{"a":"7"}', "a", "is", 7, None),
    ('{"a":1}', "a", "is", True, None),
    ('{"a":true}', "a", "is", True, True),
    ('{"a":7.0}', "a", "is", 7, True),
    ('{"a":"x"}', "a", "is_not", "x", False),
    ('{"a":"y"}', "a", "is_not", "x", True),
    ('{"a":"x"}', "a", "is_one_of", ("x", 7), True),
    ('{"a":8}', "a", "is_one_of", ("x", 7), False),
    ('{"a":8}', "a", "is_none_of", ("x", 7), True),
    ('{"a":null}', "a", "is_none_of", ("x", 7), None),
    ('{"a":true}', "a", "is_none_of", ("x", 7), None),
    # Texts and lists of them.
    ('{"a":"rm -rf /"}', "a", "contains", "rm -rf", True),
    ('{"a":["x","rm"]}', "a", "contains", "rm", True),
    ('{"a":["x",1]}', "a", "contains", "rm", None),
    ('{"a":5}', "a", "contains", "5", None),
    ('{"a":"abc"}', "a", "contains_not", "x", True),
    ('{"a":"abc"}', "a", "starts_with", "ab", True),
    ('{"a":"abc"}', "a", "ends_with", "ab", False),
    # What is optional is asked for first.
    ("{}", "a", "is_there", None, False),
    ('{"a":null}', "a", "is_there", None, True),
    ("{}", "a", "is_missing", None, True),
]


@pytest.mark.parametrize(("arguments", "path", "name", "value", "holds"), TABLE)
@pytest.mark.parametrize("lets_run", [True, False])
def test_each_test(arguments, path, name, value, holds, lets_run):
    assert said(arguments, path, name, value, lets_run=lets_run) is holds


@pytest.mark.parametrize("spelled", ["PROD", "Prod ", "pr\u043ed", "\uff50rod", "pr\u200bod"])
def test_a_rule_that_holds_takes_what_reads_like_it_and_one_that_lets_run_does_not(spelled):
    text = f'{{"a":"{spelled}"}}'
    for name, value in (("is", "prod"), ("contains", "ro"), ("starts_with", "pro"), ("is_one_of", ("prod",))):
        assert said(text, "a", name, value) is True or (name == "contains" and spelled == "PROD ")
    assert said(text, "a", "is", "prod", lets_run=True) is False
    # The other way round: what only looks like another value is no reason to let it run.
    assert said(text, "a", "is_not", "prod", lets_run=True) is False
    assert said(text, "a", "is_none_of", ("prod",), lets_run=True) is False
    assert said(text, "a", "is_not", "prod") is True


def test_a_space_is_compared_as_it_is():
    assert said('{"a":"ab"}', "a", "contains", " ") is False
    assert said('{"a":"a b"}', "a", "contains", " ") is True


def test_long_texts_are_compared_while_that_is_cheap():
    assert said('{"a":"%sX"}' % ("y" * 200_000), "a", "ends_with", "x") is True
    assert said('{"a":"%s"}' % ("\u0436" * (MOST_FOLDED + 1)), "a", "contains", "x") is None
    assert said('{"a":"%sx"}' % ("\u0436" * (MOST_FOLDED + 1)), "a", "contains", "x") is True
    assert said('{"a":"X%s"}' % ("\u0436" * (MOST_FOLDED - 1)), "a", "contains", "x") is True


def test_a_character_counts_for_as_many_as_it_stands_for():
    stands_for_eighteen = "\ufdfa"
    assert said('{"a":"X%s"}' % (stands_for_eighteen * (MOST_FOLDED // 18)), "a", "contains", "x") is True
    assert said('{"a":"X%s"}' % (stands_for_eighteen * (MOST_FOLDED // 17)), "a", "contains", "x") is None


def test_a_heap_of_marks_on_one_letter_is_not_put_in_order():
    marks = "\u0301\u0327" * (MOST_MARKS // 2)
    assert said(json.dumps({"a": f"X{marks}"}), "a", "starts_with", "x") is True
    assert said(json.dumps({"a": f"X{marks}\u0301"}), "a", "starts_with", "x") is None


def test_of_a_long_list_every_plain_text_is_compared_and_of_others_as_many_as_are_cheap():
    many = ["\u0436" * 80] + [f"\u0436{at}" for at in range(MOST_FOLDED)]
    given = json.dumps({"a": [*many, "PROD"]}, ensure_ascii=False)
    assert said(given, "a", "contains", "prod") is True
    assert said(given, "a", "contains", many[-1]) is True
    assert said(given, "a", "contains", "staging") is None
    assert said(given, "a", "contains", "staging", lets_run=True) is False


TEXTS = {
    "that stand for many": "\ufdfa" * 4000,
    "of marks in disorder": "a" + "\u0301" * 2000 + "\u0327" * 1990,
    "in other letters": "\u0436" * (MOST_FOLDED - 1),
    "of a megabyte": "Ab" * 480_000,
    "in a list": ["\u0436" * 40] * 9000,
    "in a list, plain": ["X" * 80] * 9000,
    "in a list, long": ["\ufdfa" * 3990] * 60,
}


@pytest.mark.parametrize("given", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    ("name", "value"), [("contains", "q"), ("is_one_of", tuple(f"q{at}" for at in range(100)))]
)
def test_hostile_texts_cost_two_hundred_conditions_little(given, name, value):
    arguments = Arguments(json.dumps({"a": given}, ensure_ascii=False))
    assert arguments.tree
    began = thread_time()
    for _ in range(200):
        put_to_the_test(Condition(path="a", test=name, value=value), arguments, lets_run=False)
    assert thread_time() - began < 0.05


def test_when_the_time_is_spent_nothing_is_decided():
    arguments = Arguments('{"a":1}')
    arguments.seconds = 1.0
    assert put_to_the_test(Condition(path="a", test="is", value=1), arguments, lets_run=True).holds is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("is_over", "500"), ("is_over", None), ("is_over", True), ("contains", 5), ("contains", ""), ("is", None),
        ("is", ("a",)), ("is_one_of", "a"), ("is_one_of", ()), ("is_there", 1),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_no_condition(name, value):
    with pytest.raises(ValueError, match=name.replace("_", " ")):
        Condition(path="a", test=name, value=value)


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a\n"])
def test_what_is_no_path(path):
    with pytest.raises(ValueError, match="path"):
        Condition(path=path, test="is_there")
