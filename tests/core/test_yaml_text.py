"""YAML that is read as it looks, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.core.errors import Invalid
from reviewhub.core.yaml_text import read_yaml, write_yaml


def read(text: str) -> Any:
    return read_yaml(text, max_bytes=10_000).tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", "no"), ("a: yes", "yes"), ("a: on", "on"), ("a: True", "True"), ("a: true", True),
        ("a: 'true'", "true"), ("a: null", None), ("a: ~", None), ("a:", None), ('a: ""', ""), ("a: Null", "Null"),
        ("a: 12", Number("12")), ("a: 1.50", Number("1.50")), ("a: -2e3", Number("-2e3")), ("a: '12'", "12"),
        ("a: 010", "010"), ("a: 0x1F", "0x1F"), ("a: 1_000", "1_000"), ("a: .5", ".5"), ("a: +1", "+1"),
        ("a: 12:30", "12:30"), ("a: 2026-11-30", "2026-11-30"), ("a: .inf", ".inf"), ("a: [1, x]", [Number("1"), "x"]),
        ("a: |\n  x\n  y\n", "x\ny\n"), ("a: '<<'", "<<"), ("{a: {b: c}}", {"b": "c"}),
        ("a: 9007199254740993", Number("9007199254740993")),
    ],
)  # fmt: skip
def test_a_value_is_what_it_looks_like(text: str, value: Any) -> None:
    assert read(text) == {"a": value}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: &x 1\nb: *x", 1, "Anchors"),
        ("a: 1\nb: *x", 2, "Anchors"),
        ("a: !!python/object:os.system x", 1, "tag"),
        ("a: !x {b: 1}", 1, "tag"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("a: 1\na: 2", 2, "said twice"),
        ("a: 1\n? [x]\n: 2", 2, "A key has to be a text"),
        ("a: [1\nb: 2", 2, "This is no YAML"),
        ("a: \x01", 1, "This is no YAML"),
        ("a: \t- x", 1, "This is no YAML"),
        ("x\n" * 6000, 1, "more than 10000 bytes"),
        ("[" * 30, 1, "deeper than 20"),
        ("[" * 9000, 1, "dep"),
    ],
)
def test_what_could_be_read_otherwise_is_refused(text: str, line: int, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    (error,) = refused.value.errors
    assert (error["line"], words in error["message"]) == (str(line), True), error


def test_every_part_has_its_line() -> None:
    found = read_yaml("rules:\n- name: a\n  when:\n  - path: b\n    x/y: 1\n", max_bytes=100)
    assert [found.line_of(path) for path in ("", "/rules/0/name", "/rules/0/when/0/x~1y", "/rules/0/tool")] == [
        1, 2, 5, 2,
    ]  # fmt: skip


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
    max_size=12,  # what no JSON of ours holds
) | st.sampled_from(
    [
        "no",
        "~",
        "1",
        "- a",
        "a: b",
        "#",
        " x ",
        "\u202e",
        "\ufeff",
        "\x85",
        "\u2028",
        "'",
        '"',
        "\\",
        "\U0001f600",
    ]
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60).map(lambda one: Number(str(one))) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(TREES)
def test_what_is_written_is_read_back(tree: Any) -> None:
    assert canonical.dumps(read(write_yaml(tree))) == canonical.dumps(tree)
