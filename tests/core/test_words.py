"""Words are the same ones whoever writes them, and what is looked for begins them."""

import re
from pathlib import Path

import pytest
from reviewhub_agents import canonical

import reviewhub
from reviewhub.core.display.masking import masked_tree
from reviewhub.core.words import MOST_WORDS, values_in, words_asked, words_text
from reviewhub.toolcalls.words import call_words

ROOT = Path(reviewhub.__file__).parent


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Refund $1,240.00 to order 8812", "refund 1240 00 to order 8812"),
        ("1,24 and 12,3456", "1 24 and 12 3456"),
        ("ÉCLAIR éclair E\u0301clair", "éclair"),
        ("Straße STRASSE", "strasse"),
        ("alice@example.com bank.wire_now", "alice example com bank wire now"),
        ("申请退款 ok", "申 请 退 款 ok"),
        ("<b>'; DROP--%_\\ \u202e", "b drop"),
        ("x" * 100, "x" * 40),
    ],
)
def test_words(text: str, words: str) -> None:
    assert words_text([text]) == words
    assert " ".join(one.text for one in words_asked(text)) == words


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("INV-2024-17", "inv 2024"),
        ("refund 8812", ""),
        ("mona@example.com now", "mona example"),
        ("-17", ""),
        ("a - b", ""),
        ("1,240.00", "1240"),
        ("申请退款", ""),
        ("8812-1 8812", "8812"),
    ],
)
def test_what_a_sign_joins_is_looked_for_as_it_is(text: str, whole: str) -> None:
    assert " ".join(one.text for one in words_asked(text) if one.is_whole) == whole


def test_there_is_an_end() -> None:
    assert len(words_text(f"w{at}" for at in range(10_000)).split()) == MOST_WORDS


def test_what_a_call_is_found_by_holds_no_secret() -> None:
    schema = '{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}'
    arguments = canonical.parse(
        '{"pin":"4711","password":"hunter2","to":{"name":"Ünal"},"list":[12345678901234567890,"x1"]}'
    )
    words = call_words(
        tool="bank.wire",
        agent="Pay bot",
        template="Wire {to.name} now",
        masked=masked_tree(arguments, schema),
    )
    assert {"bank", "wire", "pay", "now", "ünal", "12345678901234567890", "x1"} <= set(words.split())
    assert not {"4711", "hunter2"} & set(words.split())
    assert "name" not in words.split(), "a place is filled, not found"


def test_values_come_in_order() -> None:
    assert list(values_in(canonical.reread('{"a":["b",1.50],"c":null,"d":{"e":"f"}}'))) == ["b", "1.50", "f"]


def test_whoever_starts_a_run_notes_what_it_is_found_by() -> None:
    starting = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in ROOT.rglob("*.py")
        if "migrations" not in path.parts and re.search(r"Run\.objects\.create\(|= Run\(", path.read_text())
    }
    assert len(starting) >= 3
    assert [name for name, text in starting.items() if "note_run(run)" not in text] == []
