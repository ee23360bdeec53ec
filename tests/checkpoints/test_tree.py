"""The content of checkpoints: exact fields, one hash, honest hints, safe unpacking."""

import hashlib
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.checkpoints import tree
from reviewhub.checkpoints.tree import (
    State,
    apply_hints,
    make_state,
    read_state,
    standing_on,
)
from reviewhub.core.errors import Invalid, TooLarge

values = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=5)
    | st.sampled_from([Number("1E2"), Number("-0"), Number("9" * 30)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)

EXACT = '{"z":1E2,"a":{"id":9007199254740993},"messages":["\\u00e9","🍸"],"":null}'


def test_fields_keep_their_bytes_and_stand_in_order():
    state = read_state(EXACT)
    assert dict(state.fields) == {
        "": "null",
        "a": '{"id":9007199254740993}',
        "messages": '["é","🍸"]',
        "z": "1E2",
    }
    assert state.text == canonical.canonical(EXACT)


def test_the_hash_is_that_of_the_written_formula():
    """Computed here with the standard library alone, as an auditor would."""
    state = read_state('{"order":{"id":8812},"messages":["hi"]}')
    fields = {
        "messages": hashlib.sha256(b'["hi"]').hexdigest(),
        "order": hashlib.sha256(b'{"id":8812}').hexdigest(),
    }
    text = json.dumps({"fields": fields, "version": 1}, separators=(",", ":"), sort_keys=True)
    assert state.state_hash == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert state.state_hash == "sha256:db0990bcdfd71c73d6bcd1aa1ecd7a0f3b311a7fbb3f1dec0f665143b6f12d1c"


def test_every_byte_is_under_the_hash():
    hashes = {
        read_state(raw).state_hash
        for raw in ["{}", '{"a":1}', '{"a":1.0}', '{"a":"1"}', '{"b":1}', '{"a":{}}']
    }
    assert len(hashes) == 6


def test_order_and_white_space_of_the_client_do_not_matter():
    assert read_state('{"a": 1,\n "b": 2}').state_hash == read_state('{"b":2,"a":1}').state_hash


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        ("[]", "/state", "object_type"),
        ("null", "/state", "object_type"),
        ('{"a":NaN}', "/state/a", "not_a_number"),
        ('{"a":["x\\u0000"]}', "/state/a/0", "invalid"),
        ('{"a":1,"a":1}', "/state/a", "duplicate_key"),
    ],
)
def test_what_is_no_state_is_refused_by_path(raw, path, code):
    with pytest.raises(Invalid) as caught:
        read_state(raw)
    assert (caught.value.errors[0]["path"], caught.value.errors[0]["code"]) == (path, code)


def test_a_state_has_a_largest_size():
    with pytest.raises(TooLarge, match="limit is 10"):
        read_state('{"a":"123456"}', max_bytes=10)
    with pytest.raises(TooLarge, match="limit is 10"):
        make_state({"a": "123456"}, max_bytes=10)


PARENT = read_state('{"messages":["one"],"none":[],"order":{"id":1E2},"text":"x"}')


def hint(**given) -> State:
    return apply_hints(PARENT, **{"changed": {}, "append": {}, "unchanged": [], **given})


def test_hints_make_the_same_state_as_the_whole_would():
    state = hint(
        changed={"text": "y", "new": Number("1E3")},
        append={"messages": ["two", {"b": 1, "a": 2}], "none": []},
        unchanged=["order"],
    )
    whole = '{"messages":["one","two",{"a":2,"b":1}],"none":[],"order":{"id":1E2},"text":"y","new":1E3}'
    assert state == read_state(whole)
    assert state.state_hash == read_state(whole).state_hash


@pytest.mark.parametrize("items", [[], [[]], [None, "]"]])
@pytest.mark.parametrize("name", ["messages", "none"])
def test_appending(name, items):
    expected = json.loads(PARENT.fields[name]) + items
    assert json.loads(hint(append={name: items}).fields[name]) == expected


def test_what_no_hint_names_is_gone():
    assert list(hint(unchanged=["text"]).fields) == ["text"]


def test_a_hint_may_name_the_parent():
    assert hint(unchanged=["text"], parent_hash=PARENT.state_hash)


@pytest.mark.parametrize(
    ("given", "path", "code"),
    [
        ({"parent_hash": "sha256:0"}, "/checkpoint/parent_hash", "parent_hash"),
        ({"unchanged": ["gone"]}, "/checkpoint/unchanged", "unknown_field"),
        ({"unchanged": ["text", "text"]}, "/checkpoint/unchanged", "named_twice"),
        ({"append": {"gone": [1]}}, "/checkpoint/append/gone", "unknown_field"),
        ({"append": {"order": [1]}}, "/checkpoint/append/order", "not_a_list"),
        ({"append": {"text": [1]}}, "/checkpoint/append/text", "not_a_list"),
        ({"append": {"messages": "x"}}, "/checkpoint/append/messages", "list_type"),
        ({"append": {"messages": None}}, "/checkpoint/append/messages", "list_type"),
        (
            {"append": {"messages": []}, "unchanged": ["messages"]},
            "/checkpoint/append/messages",
            "named_twice",
        ),
        ({"changed": {"text": 1}, "unchanged": ["text"]}, "/checkpoint/changed/text", "named_twice"),
        (
            {"changed": {"messages": 1}, "append": {"messages": []}},
            "/checkpoint/changed/messages",
            "named_twice",
        ),
    ],
)
def test_wrong_hints_are_refused_by_path(given, path, code):
    with pytest.raises(Invalid) as caught:
        hint(**given)
    assert (caught.value.errors[0]["path"], caught.value.errors[0]["code"]) == (path, code)


def test_hints_obey_the_largest_size():
    with pytest.raises(TooLarge):
        hint(append={"messages": ["x" * 100]}, max_bytes=100)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_a_state_in_parts_is_its_canonical_text(given_state):
    try:
        state = make_state(given_state)
    except canonical.BadJson:
        return  # U+0000 and lone surrogates are refused, which the tests of canonical look at
    assert state.text == canonical.dumps(given_state)
    assert state.size == len(state.text.encode())
    assert state.digests == {
        name: hashlib.sha256(canonical.dumps(value).encode()).hexdigest()
        for name, value in given_state.items()
    }
    assert tree.state_hash(state.digests) == state.state_hash


def test_a_list_that_grows_is_hashed_from_where_it_was():
    before = read_state('{"log":["a"],"none":[]}')
    assert before.state_hash  # the digest goes on from this one
    after = tree.apply_hints(before, changed={}, append={"log": ["é", 1], "none": [[]]}, unchanged=[])
    whole = read_state('{"log":["a","é",1],"none":[[]]}')
    assert (after.digests, after.size, after.text) == (whole.digests, whole.size, whole.text)
    stood = tree.standing_on(before, read_state(whole.text))
    assert (stood.digests, stood.size) == (whole.digests, whole.size)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (True, 1),
        (1, True),
        (False, 0),
        (True, Decimal(1)),
        (1, 1.0),
        (Number("1"), 1),
        (Number("1"), Number("1.0")),
        ("1", Number("1")),
        (None, False),
        ([True], [1]),
        ({"a": False}, {"a": 0}),
    ],
)
def test_what_python_takes_for_equal_and_a_state_does_not(before, after):
    known = make_state({"l": [before, "x"], "s": before})
    for told in ({"l": [after, "x"], "s": after}, {"l": [after, "x", "y"], "s": after}):
        assert make_state(told, before=known).text == canonical.dumps(told)
    assert make_state({"l": [before]}, before=known).text == canonical.dumps({"l": [before]})


@given(st.lists(st.lists(values, max_size=4), min_size=2, max_size=4))
def test_a_state_told_again_is_the_state_told_anew(lists):
    before = None
    for items in lists:
        tree = {"l": items, "s": "text"}
        try:
            made, fresh = make_state(tree, before=before), make_state(tree)
        except canonical.BadJson:
            return
        assert (made.text, made.state_hash, made.size) == (fresh.text, fresh.state_hash, fresh.size)
        before = standing_on(before, made) if before else made


def test_what_a_state_shares_with_the_one_before_is_the_same_object():
    wide = '{"w":' + json.dumps({"a": "x" * 20_000, "b": ["y"]}) + ',"t":"z","l":[1]}'
    before = read_state(wide)
    again = tree.standing_on(before, read_state(wide))
    assert all(again.values[name] is before.values[name] for name in before.values)
    changed = tree.standing_on(before, read_state(wide.replace("y", "n")))
    assert changed.values["w"].members["a"] is before.values["w"].members["a"]
    assert changed.fields == read_state(wide.replace("y", "n")).fields


@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(values, max_size=3)),
    st.dictionaries(st.sampled_from("abc"), st.lists(values, max_size=3)),
)
def test_hints_and_whole_states_agree(before, added):
    try:
        parent = make_state(before)
        append = {name: items for name, items in added.items() if name in before}
        changed = {name: items for name, items in added.items() if name not in before}
        state = apply_hints(
            parent, changed=changed, append=append, unchanged=[n for n in before if n not in append]
        )
        whole = make_state(
            {**changed, **{name: items + append.get(name, []) for name, items in before.items()}}
        )
    except canonical.BadJson:
        return
    assert state.state_hash == whole.state_hash
