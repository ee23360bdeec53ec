"""Exact values: everything in the matrix comes back equal and of the same type, or is refused by path and type."""

from __future__ import annotations

import decimal
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reviewhub_agents import canonical, exact
from reviewhub_agents.exact import NotExact, OpaqueBytes

from tests.agents.values import BERLIN, PLAIN, REFUSED, TYPES, VALUES, Colour, Right, Shop, equal


def text_of(value: Any) -> str:
    return canonical.dumps(exact.pack(value, types=TYPES))


def read(text: str, **options: Any) -> Any:
    return exact.unpack(canonical.parse(text), types=TYPES, **options)


def refused(tree: Any, **options: Any) -> str:
    """Path and message of the refusal of what is read."""
    with pytest.raises(NotExact) as caught:
        exact.unpack(tree, **({"types": TYPES} | options))
    return str(caught.value)


# ---- the matrix ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_b19_every_value_comes_back_as_it_was(value: Any) -> None:
    text = text_of(value)
    again = read(text)
    assert equal(value, again)
    assert text_of(again) == text
    assert canonical.canonical(text) == text
    assert equal(value, exact.unpack(exact.pack(value, types=TYPES), types=TYPES))  # and without the text


@pytest.mark.parametrize("name", PLAIN)
def test_plain_json_packs_to_itself(name: str) -> None:
    assert text_of(VALUES[name]) == canonical.dumps(VALUES[name])
    assert equal(exact.pack(VALUES[name]), VALUES[name])


@pytest.mark.parametrize(("value", "path", "kind"), REFUSED.values(), ids=REFUSED)
def test_b19_what_cannot_be_kept_is_refused_by_path_and_type(value: Any, path: str, kind: str) -> None:
    with pytest.raises(NotExact) as caught:
        text_of(value)
    fault = caught.value.errors[0]
    assert fault["path"].startswith(path)
    assert kind in fault["message"]


@pytest.mark.parametrize("name", ["named tuple", "dataclass", "model"])
def test_objects_need_their_type_and_the_error_says_so(name: str) -> None:
    with pytest.raises(NotExact, match=r"^/x/0: A value of type tests\.agents\.values\.\w+ cannot be .*type"):
        exact.pack({"x": [VALUES[name]]})


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append({"again": value})
    with pytest.raises(NotExact, match="contains itself") as caught:
        exact.pack(value)
    assert caught.value.code == "too_deep"


def test_what_is_packed_can_be_parsed_however_deep() -> None:
    value: Any = 1
    for level in range(60):
        value = (value,) if level % 2 else {1: value}
        try:
            text = text_of(value)
        except NotExact as error:
            assert error.code == "too_deep"
            assert level > canonical.MAX_DEPTH // 3
            return
        assert equal(read(text), value)
    raise AssertionError("never refused")


def test_the_result_shares_nothing_with_the_value() -> None:
    value: dict[str, Any] = {"a": [[1]], "b": ([2],)}
    packed = exact.pack(value)
    value["a"][0].append(3)
    value["b"][0].append(3)
    assert packed == {"a": [[1]], "b": {"$rh": "tuple", "value": [[2]]}}


# ---- the text is the format ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("12.50"), '{"$rh":"decimal","value":"12.50"}'),
        (float("-inf"), '{"$rh":"float","value":"-Infinity"}'),
        ("a\0\\\ud800", r'{"$rh":"text","value":"a\\u0000\\\\\\ud800"}'),
        (b"hi", '{"$rh":"bytes","value":"aGk="}'),
        ({10, 9, "b"}, '{"$rh":"set","value":["b",10,9]}'),
        ({2: (), 1: []}, '{"$rh":"dict","value":[[2,{"$rh":"tuple","value":[]}],[1,[]]]}'),
        ({"$rh": 1}, '{"$$rh":1}'),
        (timedelta(days=-1, microseconds=1), '{"$rh":"duration","value":"-PT86399.999999S"}'),
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
            '{"$rh":"datetime","fold":1,"value":"2026-10-25T02:30:00+01:00","zone":"Europe/Berlin"}',
        ),
        (
            Shop.Order.Status.OPEN,
            '{"$rh":"enum","name":"OPEN","type":"tests.agents.values.Shop.Order.Status"}',
        ),
        (
            OpaqueBytes(b"", "text/x"),
            '{"$rh":"opaque","media_type":"text/x","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495'
            '991b7852b855","size":0,"value":""}',
        ),
    ],
)
def test_the_format_does_not_change(value: Any, text: str) -> None:
    """These texts are in databases: a change of one is a new version of the format."""
    assert text_of(value) == text


def test_a_set_has_one_text_in_every_process() -> None:
    code = (
        "from reviewhub_agents import exact, canonical;"
        "print(canonical.dumps(exact.pack({'one', 'two', 'three', 'four', 4, (5, 6)})))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": "agents", "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_a_decimal_does_not_depend_on_the_context() -> None:
    value = Decimal("123456789.123456789E+50")
    with decimal.localcontext() as context:
        context.prec, context.capitals = 3, 0
        text = text_of(value)
        assert read(text).as_tuple() == value.as_tuple()
    assert text_of(value) == text


# ---- every JSON value, and every value -----------------------------------------------------------

slow_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
marks = st.sampled_from(["$rh", "$$rh", "$$$rh", "$rh2", "$", "rh", "value", "type", "a"])
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5), marks
)
literals = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), texts, literals.map(canonical.Number)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)
kinds = st.sampled_from(
    ["decimal", "float", "integer", "text", "bytes", "tuple", "set", "frozenset", "dict", "deque", "complex"]
    + ["enum", "object", "opaque", "datetime", "time", "date", "duration", "uuid", "matrix"]
)
names = st.sampled_from(["value", "value", "type", "name", "names", "fold", "maxlen", "unset", "bits"])
leaves = st.sampled_from(
    ["1", "NaN", "2026-01-01", "P1D", "00ff", "tests.agents.values.Point", canonical.Number("0")]
)
hostile = st.recursive(
    st.one_of(leaves, json_values),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.builds(lambda kind, more: {"$rh": kind, **more}, kinds, st.dictionaries(names, inner, max_size=3)),
    ),
    max_leaves=12,
)
loose_text = st.text(st.characters(), max_size=5)  # surrogates and NUL too
hashable = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        loose_text,
        st.integers(),
        st.floats(),
        st.decimals(allow_nan=False),
        st.just(Decimal("NaN")),
        st.binary(max_size=5),
        st.uuids(),
        st.datetimes(timezones=st.one_of(st.none(), st.timezones())),
        st.dates(),
        st.times(),
        st.timedeltas(),
        st.sampled_from([Colour.RED, Right.READ | Right.WRITE]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)),
    max_leaves=6,
)
any_value = st.recursive(
    st.one_of(hashable, st.sets(hashable, max_size=3), st.binary(max_size=4).map(bytearray)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(loose_text, marks), inner, max_size=4),
        st.dictionaries(hashable, inner, max_size=4),
    ),
    max_leaves=15,
)


@slow_machine
@given(json_values)
def test_every_json_value_that_is_no_mark_comes_back_as_itself(tree: Any) -> None:
    """Data of the agent's own goes in, whatever it looks like; the same text comes out."""
    text = canonical.dumps(tree)
    packed = canonical.dumps(exact.pack(canonical.parse(text)))
    assert canonical.dumps(exact.unpack(canonical.parse(packed))) == text
    if "$" not in text:
        assert packed == text


@slow_machine
@given(any_value)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    text = text_of(value)
    assert text_of(read(text)) == text
    assert equal(value, read(text))


@slow_machine
@given(hostile)
def test_whatever_is_read_is_refused_by_name_or_packs_to_the_same(tree: Any) -> None:
    """Hostile trees: marks in every place."""
    try:
        value = exact.unpack(tree, types=TYPES)
    except NotExact as error:
        assert error.errors[0]["message"]
    else:
        assert equal(read(text_of(value)), value)
