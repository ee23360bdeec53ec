"""Edits of arguments: applied exactly, refused by path, and found again from two texts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.core.changes import Change, apply_changes, difference, parse_changes
from reviewhub.core.errors import Invalid

EXACT = '{"account_id":9007199254740993,"amt":0.1,"exp":1E2,"huge":12345678901234567890123,"note":"hi"}'
ORDER = '{"a~b":1,"items":["x","y"],"ship":{"to":"Oslo"},"a/b":2,"":3}'


def change(op: str, path: str, value=None) -> Change:
    return Change(op=op, path=path, value=value)


def test_values_that_nobody_touched_keep_their_bytes():
    after = apply_changes(EXACT, [change("set", "/note", "bye")])
    assert after == EXACT.replace('"hi"', '"bye"')


@pytest.mark.parametrize(
    ("op", "path", "value", "after"),
    [
        ("set", "/items/1", "z", '"items":["x","z"]'),
        ("set", "/items", [], '"items":[]'),
        ("set", "/items", None, '"items":null'),
        ("set", "/ship/zip", "0150", '"ship":{"to":"Oslo","zip":"0150"}'),
        ("set", "/ship/to", Number("1E2"), '"ship":{"to":1E2}'),
        ("set", "/a~0b", False, '"a~b":false'),
        ("set", "/a~1b", 0, '"a/b":0'),
        ("set", "/", "", '"":""'),
        ("insert", "/items/0", "w", '"items":["w","x","y"]'),
        ("insert", "/items/2", "z", '"items":["x","y","z"]'),
        ("insert", "/items/-", "z", '"items":["x","y","z"]'),
        ("insert", "/ship/zip", None, '"ship":{"to":"Oslo","zip":null}'),
        ("set", "/ship/__proto__", {}, '"ship":{"__proto__":{},"to":"Oslo"}'),
        ("remove", "/items/0", None, '"items":["y"]'),
        ("remove", "/ship/to", None, '"ship":{}'),
    ],
)
def test_one_change(op, path, value, after):
    assert after in apply_changes(ORDER, [change(op, path, value)])


@pytest.mark.parametrize(
    ("op", "path", "code"),
    [
        ("set", "", "root"),
        ("remove", "", "root"),
        ("set", "items", "invalid_path"),
        ("set", "/a~2b", "invalid_path"),
        ("set", "/a~", "invalid_path"),
        ("set", "/" + "x" * 2000, "invalid_path"),
        ("set", "/a" * 101, "invalid_path"),
        ("set", "/nothing/x", "unknown_path"),
        ("set", "/ship/to/x", "unknown_path"),
        ("remove", "/nothing", "unknown_path"),
        ("set", "/items/2", "out_of_range"),
        ("remove", "/items/2", "out_of_range"),
        ("insert", "/items/3", "out_of_range"),
        ("set", "/items/-", "unknown_path"),
        ("remove", "/items/-", "unknown_path"),
        ("set", "/items/-1", "unknown_path"),
        ("set", "/items/01", "unknown_path"),
        ("set", "/items/1 ", "unknown_path"),
        ("set", "/items/\u0661", "unknown_path"),
        ("set", "/items/1e0", "unknown_path"),
        ("set", "/items/99999999999", "unknown_path"),
        ("set", "/items/-/x", "unknown_path"),
        ("insert", "/ship/to", "exists"),
    ],
)
def test_what_does_not_fit_is_refused_by_path(op, path, code):
    with pytest.raises(Invalid) as caught:
        apply_changes(ORDER, [change("set", "/a~0b", 5), change(op, path, 1)])
    error = caught.value.errors[0]
    assert (error["path"], error["code"]) == ("/changes/1/path", code)


def test_changes_are_applied_in_order():
    changes = [
        change("insert", "/items/0", "w"),
        change("set", "/items/0", "v"),
        change("remove", "/items/1"),
    ]
    assert '"items":["v","y"]' in apply_changes(ORDER, changes)


def test_a_change_is_not_changed_by_a_later_one():
    value = {"deep": []}
    changes = [
        change("set", "/new", value),
        change("insert", "/new/deep/-", 1),
        change("set", "/again", value),
    ]
    after = apply_changes("{}", changes)
    assert after == '{"again":{"deep":[]},"new":{"deep":[1]}}'
    assert value == {"deep": []}


@pytest.mark.parametrize("value", ["\ud83c", "a\0", float("nan"), (1,), {"k\0": 1}])
def test_values_that_cannot_be_kept_are_refused(value):
    with pytest.raises(Invalid) as caught:
        apply_changes("{}", [change("set", "/x", value)])
    assert caught.value.errors[0]["path"].startswith("/changes/0/value")


def test_limits():
    with pytest.raises(Invalid, match="limit is 1000"):
        apply_changes("{}", [change("set", "/x", 1)] * 1001)
    with pytest.raises(Invalid, match="limit is 10"):
        apply_changes("{}", [change("set", "/x", "y" * 20)], max_bytes=10)
    deep: list = []
    for _ in range(99):
        deep = [deep]
    with pytest.raises(Invalid) as caught:
        apply_changes('{"a":[0]}', [change("set", "/a/0", deep)])
    assert caught.value.errors[0]["code"] == "too_deep"


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        ("{}", "/changes", "invalid"),
        ("[1]", "/changes/0", "invalid"),
        ('[{"path":"/a"}]', "/changes/0/op", "invalid"),
        ('[{"op":"replace","path":"/a","value":1}]', "/changes/0/op", "invalid"),
        ('[{"op":"Set","path":"/a","value":1}]', "/changes/0/op", "invalid"),
        ('[{"op":["set"],"path":"/a","value":1}]', "/changes/0/op", "invalid"),
        ('[{"op":"set","path":1,"value":1}]', "/changes/0/path", "invalid"),
        ('[{"op":"set","value":1}]', "/changes/0/path", "invalid"),
        ('[{"op":"set","path":"/a"}]', "/changes/0/value", "missing"),
        ('[{"op":"remove","path":"/a","value":1}]', "/changes/0/value", "unknown_field"),
        ('[{"op":"set","path":"/a","value":1,"x":1}]', "/changes/0/x", "unknown_field"),
    ],
)
def test_only_changes_are_read_as_changes(raw, path, code):
    with pytest.raises(Invalid) as caught:
        parse_changes(canonical.parse(raw))
    assert (caught.value.errors[0]["path"], caught.value.errors[0]["code"]) == (path, code)


def test_changes_come_back_from_their_json():
    changes = (change("set", "/a", None), change("insert", "/b/-", Number("1E2")), change("remove", "/c"))
    assert parse_changes([each.as_tree() for each in changes]) == changes


@pytest.mark.parametrize(
    ("old", "new", "steps"),
    [
        ("{}", "{}", []),
        ('{"a":1}', '{"a":1.0}', ["set /a"]),
        ('{"a":5}', '{"a":"5"}', ["set /a"]),
        ('{"a":1}', '{"b":1}', ["remove /a", "set /b"]),
        ('{"a":{"b":1,"c":"long enough text"}}', '{"a":{"b":2,"c":"long enough text"}}', ["set /a/b"]),
        ('{"a":{"b":1}}', '{"a":[]}', ["set /a"]),
        ('{"a":[1,2,3]}', '{"a":[1,3]}', ["set /a"]),
        ('{"m":["one message","two message"]}', '{"m":["one message","two message","3"]}', ["insert /m/2"]),
        (
            '{"m":["first message","two message","third message"]}',
            '{"m":["two message","third message"]}',
            ["remove /m/0"],
        ),
        (
            '{"a/b":{"~":1,"x":"long enough text"}}',
            '{"a/b":{"~":2,"x":"long enough text"}}',
            ["set /a~1b/~0"],
        ),
    ],
)
def test_differences_are_few_and_readable(old, new, steps):
    assert [f"{each.op} {each.path}" for each in difference(old, new)] == steps


def test_values_without_a_common_root_have_no_difference():
    with pytest.raises(ValueError, match="compared"):
        difference("[]", "{}")


def test_long_lists_take_no_time():
    old = canonical.dumps({"a": list(range(5000))})
    new = canonical.dumps({"a": list(range(1, 10000, 2))})
    assert apply_changes(old, difference(old, new)) == new


keys = st.text(alphabet="ab/~-01", max_size=2)
trees = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", "x", Number("1"), Number("1.0"), Number("1E2")]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(keys, trees, max_size=5)


@given(objects, objects)
@example({"a": [1, 2, 3, 4]}, {"a": [2, 5, 4, 6, 7]})
def test_a_difference_leads_from_one_to_the_other(old, new):
    before, after = canonical.dumps(old), canonical.dumps(new)
    changes = difference(before, after)
    assert apply_changes(before, changes) == after
    assert apply_changes(before, parse_changes([each.as_tree() for each in changes])) == after
    assert bool(changes) == (before != after)


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12))
def test_a_difference_of_lists_leads_from_one_to_the_other(old, new):
    # Long items, so that steps inside the list are shorter than the whole list.
    before = canonical.dumps({"a": [f"item {number} " * 9 for number in old]})
    after = canonical.dumps({"a": [f"item {number} " * 9 for number in new]})
    assert apply_changes(before, difference(before, after)) == after
