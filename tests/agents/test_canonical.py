"""Canonical JSON: what is kept, what is refused and where, and that both readers agree."""

import hashlib
import json
import pickle
import sys
import time
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reviewhub_agents import canonical as c
from reviewhub_agents.canonical import reader


def refusal(raw: bytes | str, **limits: int) -> tuple[str, str]:
    """Code and path of the first fault of `raw`."""
    with pytest.raises(c.BadJson) as caught:
        c.parse(raw, **limits)
    first = caught.value.errors[0]
    assert first["message"]
    assert caught.value.code == first["code"]
    return first["code"], first["path"]


# ---- what is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "literal",
    [
        "1E2",
        "0.10",
        "12345678901234567890123",
        "9007199254740993",
        "-0",
        "-0.0",
        "1e-7",
        "1.0",
        "0e5",
        "1E+2",
    ],
)
def test_b10_a_number_keeps_its_literal(literal: str) -> None:
    assert c.canonical(f'{{"n": {literal} }}') == f'{{"n":{literal}}}'


def test_b10_the_whole_call_of_the_case() -> None:
    raw = b'{"account_id":9007199254740993,"huge":12345678901234567890123,"amt":0.1,"exp":1E2}'
    text = c.canonical(raw)
    assert text == '{"account_id":9007199254740993,"amt":0.1,"exp":1E2,"huge":12345678901234567890123}'
    assert c.to_python(c.parse(raw)) == {
        "account_id": 9007199254740993,
        "huge": 12345678901234567890123,
        "amt": Decimal("0.1"),
        "exp": Decimal("1E2"),
    }


def test_b01_a_pair_of_escapes_is_one_character() -> None:
    assert c.parse(rb'{"body":"\ud83c\udf78"}') == {"body": "\U0001f378"}
    assert c.canonical(rb'{"body":"\ud83c\udf78"}') == '{"body":"\U0001f378"}'


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('{"b":1,"a":2}', '{"a":2,"b":1}'),
        (
            '{"\uffff":1,"\U0001f378":2,"z":3,"é":4}',
            '{"z":3,"é":4,"\uffff":1,"\U0001f378":2}',
        ),  # not by UTF-16
        (' [ 1 , [ ] , { } , "" ] ', '[1,[],{},""]'),
        (r'"\u00e9\/\u0041\u001F\n\"\\\u007f"', '"é/A\\u001f\\n\\"\\\\\x7f"'),
        ('"\u2028 \u202e \u200b \ufeff e\u0301"', '"\u2028 \u202e \u200b \ufeff e\u0301"'),
        ("true", "true"),
        ("null", "null"),
        ('"x"', '"x"'),
        ('{"":{"":0}}', '{"":{"":0}}'),
    ],
)
def test_canonical_text(raw: str, text: str) -> None:
    assert c.canonical(raw) == text
    assert c.canonical(raw.encode()) == text


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (rb'{"args":{"a\u0000k":1}}', r"/args/a\u0000k"),
        (rb'{"args":{"body":"x\u0000y"}}', "/args/body"),
        (rb'{"body":"half \ud83c end"}', "/body"),
        (rb'{"body":"\udf78\ud83c"}', "/body"),
        (rb'["ok",{"k\udfff":1}]', r"/1/k\udfff"),
        ('["\ud83c"]', "/0"),
        ('["\ud83c\udf78"]', "/0"),  # two lone ones in a str are no pair
        (b'["\xed\xa0\xbc"]', ""),  # a surrogate spelled in UTF-8
        (b'["\xff"]', ""),
        (b"\xef\xbb\xbf{}", ""),
        ("\ufeff{}", ""),
        ("{}".encode("utf-16"), ""),
        ('{"n":1e1000}', "/n"),
        ('{"n":[1E-1000]}', "/n/0"),
        ('{"n":1e' + "0" * 30 + "1}", "/n"),
        ("1" * 1001, ""),
        ("0." + "1" * 1001, ""),
    ],
)
def test_b01_characters_and_numbers_no_store_keeps(raw: bytes | str, path: str) -> None:
    assert refusal(raw) == ("invalid", path)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_not_a_number(word: str) -> None:
    assert refusal(f'{{"a":[1,{word}]}}') == ("not_a_number", "/a/1")


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('{"a":1,"a":1}', "/a"),
        ('{"x":[{"k":{"d":1,"e":2,"d":3}}]}', "/x/0/k/d"),
        (r'{"a":1,"\u0061":2}', "/a"),
        ('{"a/b~c":1,"a/b~c":2}', "/a~1b~0c"),
        ('{"":1,"":2}', "/"),
    ],
)
def test_duplicate_key(raw: str, path: str) -> None:
    assert refusal(raw) == ("duplicate_key", path)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("", ""),
        ("   ", ""),
        ("{", ""),
        ("[1,]", "/1"),
        ("[1 2]", "/0"),
        ('{"a":1,}', ""),
        ('{"a" 1}', "/a"),
        ("{'a':1}", ""),
        ("{a:1}", ""),
        ('{"a":01}', "/a"),
        ('{"a":+1}', "/a"),
        ('{"a":.5}', "/a"),
        ('{"a":1.}', "/a"),
        ('{"a":"x', "/a"),
        ('{"a":"\n"}', "/a"),
        ('{"a":"\\x"}', "/a"),
        ('{"a":"\x00"}', "/a"),
        ("{} {}", ""),
        ("[1]]", ""),
        ("nul", ""),
        ("True", ""),
        ("[1}", "/0"),
        ("// c\n1", ""),
        ("\u00a01", ""),
        ("[\u0661]", "/0"),
        ("-", ""),
    ],
)
def test_not_json(raw: str, path: str) -> None:
    assert refusal(raw) == ("invalid_json", path)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_is_limited_and_never_the_stack(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    assert c.parse(opening * 100 + "1" + closing * 100)
    code, path = refusal(opening * 101 + "1" + closing * 101)
    assert code == "too_deep"
    assert path.count("/") == 100
    assert refusal(opening * 200_000)[0] == "too_deep"
    assert c.parse(opening * 30_000 + "1" + closing * 30_000, max_depth=30_000)
    assert refusal("[[1]]", max_depth=1) == ("too_deep", "/0")


def test_size_is_limited_and_named() -> None:
    with pytest.raises(c.BadJson, match="12 bytes; the limit is 10"):
        c.parse('["éééé"]', max_bytes=10)
    assert refusal(b"[" + b"1" * 20 + b"]", max_bytes=10) == ("too_large", "")
    assert refusal("[1,2,3]", max_values=3) == ("too_large", "/2")
    assert c.parse("[1,2,3]", max_values=4)
    assert c.parse('["a,b,c,d,[[[["]', max_values=2) == ["a,b,c,d,[[[["]


def test_all_faults_of_content_are_reported_together() -> None:
    with pytest.raises(c.BadJson) as caught:
        c.parse(r'{"a":NaN,"b":"\u0000","b":"\ud800","c":1e9999}')
    assert [(fault["code"], fault["path"]) for fault in caught.value.errors] == [
        ("not_a_number", "/a"),
        ("invalid", "/b"),
        ("duplicate_key", "/b"),
        ("invalid", "/b"),
        ("invalid", "/c"),
    ]
    with pytest.raises(c.BadJson) as caught:
        c.parse("[" + "NaN," * 1000 + "1]")
    assert len(caught.value.errors) == 20


def test_a_fault_can_always_be_sent_and_printed() -> None:
    with pytest.raises(c.BadJson) as caught:
        c.parse('{"' + "k" * 10_000 + r'\ud800\u202e":1}')
    assert len(json.dumps(caught.value.errors[0], ensure_ascii=False).encode()) < 1000
    assert pickle.loads(pickle.dumps(caught.value)).errors == caught.value.errors


# ---- writing -------------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"


class Text(str):
    __slots__ = ()


def test_dumps_takes_python_numbers() -> None:
    tree = {"i": 12345678901234567890123, "d": Decimal("0.10"), "e": Decimal("1E+2"), "f": 0.1, "b": True}
    assert c.dumps(tree) == '{"b":true,"d":0.10,"e":1E+2,"f":0.1,"i":12345678901234567890123}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_dumps_refuses_what_is_not_a_number(value: object) -> None:
    with pytest.raises(c.BadJson) as caught:
        c.dumps({"a": [1, value]})
    assert (caught.value.code, caught.value.errors[0]["path"]) == ("not_a_number", "/a/1")


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        {1},
        b"x",
        Colour.RED,
        Text("x"),
        object(),
        {1: 2},
        {None: 1},
        "\x00",
        "\ud800",
        10**1001,
        {"\x00": 1},
    ],
)
def test_dumps_converts_nothing_silently(value: object) -> None:
    with pytest.raises(c.BadJson) as caught:
        c.dumps({"ok": 1, "state": [value]})
    assert caught.value.code == "invalid"
    assert caught.value.errors[0]["path"].startswith("/state/0")


def test_dumps_ends_on_a_value_that_contains_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(c.BadJson) as caught:
        c.dumps(loop)
    assert caught.value.code == "too_deep"


# ---- numbers and digests -------------------------------------------------------------------------


def test_a_number_is_nothing_else() -> None:
    number = c.Number("1")
    assert number == c.Number("1")
    assert number != c.Number("1.0")
    assert number != "1"
    assert number != 1
    assert not isinstance(number, str | int | float)
    assert str(number) == "1"
    assert pickle.loads(pickle.dumps(number)) == number
    with pytest.raises(AttributeError):
        number.literal = "2"
    for bad in ["", "01", "1 ", "+1", "NaN", "1e1000", "\u0661"]:
        with pytest.raises(ValueError, match="number"):
            c.Number(bad)


def test_plain_gives_floats_only_where_they_are_exact() -> None:
    plain = c.plain(c.parse("[1,0.10,1E2,0.1000000000000000000001,1e999,-0.0]"))
    assert [type(value) for value in plain] == [int, float, float, Decimal, Decimal, float]
    assert plain[:3] == [1, 0.1, 100.0]


def test_the_digest_is_of_the_value_and_not_of_its_spelling() -> None:
    one = c.digest(tool="payments.refund", arguments_text='{"b":1, "a":"\\u00e9"}')
    assert one == c.digest(tool="payments.refund", arguments_text='{"a":"é","b":1}')
    assert one.startswith("sha256:")
    assert len(one) == 71
    others = [
        c.digest(tool="payments.refund", arguments_text='{"a":"é","b":1.0}'),
        c.digest(tool="payments.Refund", arguments_text='{"a":"é","b":1}'),
        c.digest(tool="payments.refund", arguments_text='{"a":"e\u0301","b":1}'),
    ]
    assert len({one, *others}) == 4


def test_the_digest_never_changes() -> None:
    hashed = (
        b'{"arguments":{"amount":"1240.00","order_id":"8812"},"tool":"payments.refund_order","version":1}'
    )
    found = c.digest(tool="payments.refund_order", arguments_text='{"order_id":"8812","amount":"1240.00"}')
    assert found == "sha256:" + hashlib.sha256(hashed).hexdigest()
    assert found == "sha256:ac29ead848f6c6b34503a28a2c135be07643113ab9c5e2cd4253cc0380687d86"


def test_body_digest_is_of_equal_bodies_equal() -> None:
    assert c.body_digest(c.parse('{"b":[1],"a":null}')) == c.body_digest({"a": None, "b": [1]})


# ---- properties ----------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
literals = st.from_regex(
    r"\A-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,2})?\Z", fullmatch=True
).filter(str.isascii)
trees = st.recursive(
    st.none() | st.booleans() | texts | literals.map(c.Number),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


@given(trees)
def test_writing_and_reading_gives_the_same_tree(tree: c.Tree) -> None:
    text = c.dumps(tree)
    assert c.parse(text) == tree
    assert c.parse(text.encode()) == tree
    assert c.canonical(text) == text


def spell(tree: c.Tree, ascii_only: bool, gap: str) -> str:
    """Another spelling of `tree`: keys the other way round, with white space, perhaps all in escapes."""
    if isinstance(tree, c.Number):
        return tree.literal
    if isinstance(tree, list):
        return f"[{gap}" + f",{gap}".join(spell(item, ascii_only, gap) for item in tree) + f"{gap}]"
    if isinstance(tree, dict):
        pairs = [f"{spell(k, ascii_only, gap)}{gap}:{spell(v, ascii_only, gap)}" for k, v in tree.items()]
        return "{" + gap + f"{gap},".join(reversed(pairs)) + "}" + gap
    return json.dumps(tree, ensure_ascii=ascii_only)


@given(trees, st.booleans(), st.sampled_from(["", " ", "\r\n\t"]))
def test_every_spelling_has_one_canonical_text(tree: c.Tree, ascii_only: bool, gap: str) -> None:
    assert c.canonical(spell(tree, ascii_only, gap)) == c.dumps(tree)


@given(trees, trees)
def test_equal_values_have_equal_texts_and_no_others(one: c.Tree, other: c.Tree) -> None:
    assert (one == other) == (c.dumps(one) == c.dumps(other))


@given(st.text('{}[]:,"\\ue0d83cf1-+.EnNaIity tr\x00\n é\ud83c', max_size=30) | st.text(max_size=20))
def test_both_readers_agree(text: str) -> None:
    try:
        expected: object = reader._Reader(text, False, 5, 10).read()
    except c.BadJson as error:
        expected = error.errors
    try:
        found: object = c.parse(text, max_depth=5, max_values=10)
    except c.BadJson as error:
        found = error.errors
    if not text.startswith("\ufeff"):
        assert found == expected


@given(trees)
def test_both_readers_give_the_same_tree(tree: c.Tree) -> None:
    text = c.dumps(tree)
    assert reader._Reader(text, False, 100, 1000).read() == reader._SCANNER.decode(text) == tree


def test_ten_megabytes_take_seconds() -> None:
    row = {"id": 12345, "name": "Noah Müller", "text": "x" * 120, "price": 12.5, "tags": ["a", None]}
    raw = json.dumps([row] * 40_000).encode()
    started = time.process_time()
    c.dumps(c.parse(raw, max_values=1_000_000))
    assert time.process_time() - started < 10
    assert sys.getrecursionlimit() < 10_000


def test_every_character_is_written_as_json_writes_it() -> None:
    for code in (*range(1, 0xD800), *range(0xE000, 0x3000 + 0xE000), 0x1F600, 0x10FFFF):
        for text in (chr(code), f'a{chr(code)}"\\\n'):
            assert c.dumps(text) == json.dumps(text, ensure_ascii=False)
    for number in (0, -1, 10**18 - 1, 10**18, -(10**18), 10**30):
        assert c.dumps([number]) == f"[{number}]"
