"""Every character of hostile text is shown as what it is."""

import time

import pytest

from reviewhub.core.display import segments
from reviewhub.core.display.secrets import is_secret_key, mask, masked


def kinds(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in segments.split(text)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", [("text", "plain words")]),
        ("", []),
        ("Damaged\u202e00.042", [("text", "Damaged"), ("control", "U+202E"), ("text", "00.042")]),
        ("a\u2066b\u2069", [("text", "a"), ("control", "U+2066"), ("text", "b"), ("control", "U+2069")]),
        ("files_\u200bdelete", [("text", "files_"), ("control", "U+200B"), ("text", "delete")]),
        ("\ufeffx", [("control", "U+FEFF"), ("text", "x")]),
        ("\U000e0041", [("control", "U+E0041")]),
        ("x\x1b[31m", [("text", "x"), ("control", "U+001B"), ("text", "[31m")]),
        ("a\r\nb", [("text", "a"), ("control", "U+000D"), ("text", "\nb")]),
        ("a\u00a0b", [("text", "a"), ("control", "U+00A0"), ("text", "b")]),
        ("x\u3164", [("text", "x"), ("control", "U+3164")]),
        ("\ue000", [("control", "U+E000")]),
        ("☂\ufe0f", [("text", "☂"), ("control", "U+FE0F")]),
        ("mir\u0430@example.com", [("text", "mir"), ("foreign", "\u0430"), ("text", "@example.com")]),
        ("files_del\u0435te", [("text", "files_del"), ("foreign", "\u0435"), ("text", "te")]),
        ("\ufb01les", [("foreign", "\ufb01"), ("text", "les")]),
        ("\uff44elete", [("foreign", "\uff44"), ("text", "elete")]),
        ("\u0441\u043e\u0440", [("foreign", "\u0441"), ("foreign", "\u043e"), ("foreign", "\u0440")]),
        ("Это сор, не сорт", [("text", "Это сор, не сорт")]),
        ("東京Tower で", [("text", "東京Tower で")]),
        ("café naïve", [("text", "café naïve")]),
        ("\U0001f378", [("text", "\U0001f378")]),
        (" x ", [("spaces", "·"), ("text", "x"), ("spaces", "·")]),
        ("a  b", [("text", "a"), ("spaces", "··"), ("text", "b")]),
        ("echo ok" + " " * 400 + "&& x", [("text", "echo ok"), ("spaces", "400 spaces"), ("text", "&& x")]),
        (
            "see https://evil.example/x now",
            [("text", "see "), ("link", "https://evil.example/x"), ("text", " now")],
        ),
        ("javascript:alert(1)", [("link", "javascript:alert(1)")]),
        ("<img src=x onerror=alert(1)>", [("text", "<img src=x onerror=alert(1)>")]),
    ],
)
def test_split_shows(text: str, shown: list[tuple[str, str]]) -> None:
    assert kinds(text) == shown


@pytest.mark.parametrize(
    "text", ["a\u202eb \u0430bc  x\n\ty", "☂\ufe0f https://x.example \ufb01", "é́\u200b" * 50]
)
def test_nothing_is_lost_or_moved(text: str) -> None:
    assert "".join(piece.source for piece in segments.split(text)) == text


def test_plain_text_holds_no_control_and_names_look_alikes() -> None:
    assert segments.plain(segments.split("Pay\u202e mir\u0430\nnow")) == "Pay[U+202E] mir\u0430[U+0430] now"


def test_odd_says_in_words_what_is_strange() -> None:
    assert segments.odd(segments.split("a\u202eb")) == [
        "1 hidden character: right-to-left override. Shown as stored, never reordered."
    ]
    assert segments.odd(segments.split("del\u0435te")) == [
        "1 letter looks Latin and is not: U+0435, Cyrillic."
    ]
    assert segments.odd(segments.split("files_delete ")) == ["Starts or ends with a space."]
    assert segments.odd(segments.split("fine")) == []


@pytest.mark.parametrize(
    "text", ["import os\n" * 100_000, "она" * 300_000, "mir\u0430 " * 10_000, "東京" * 300_000]
)
def test_a_megabyte_is_split_in_reasonable_time(text: str) -> None:
    begun = time.perf_counter()
    segments.split(text)
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("api_key", True),
        ("apiKey", True),
        ("X-Api-Key", True),
        ("password", True),
        ("clientSecret", True),
        ("token", True),
        ("access_token", True),
        ("Authorization", True),
        ("max_tokens", False),
        ("author", False),
        ("passenger", False),
        ("monkey", False),
        ("order_id", False),
    ],
)
def test_secret_keys(name: str, is_secret: bool) -> None:
    assert is_secret_key(name) is is_secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rk_live_abcdefgh1234567Qd2", "rk_live_••••7Qd2"),
        ("ghp_abcdefghijklmnopqrstuvwx1234", "ghp_••••1234"),
        ("AKIAIOSFODNN7EXAMPLE", "••••MPLE"),
        ("Bearer abcdefghijklmnop1234", "Bearer ••••1234"),
        ("postgres://bob:hunter2@db.example/x", "postgres://••••••••@db.example/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "••••••••"),
        ("try password=hunter2hunter2 first", "try password=••••ter2 first"),
        ("PASSWD='hunter2'&x=1", "PASSWD='••••••••'&x=1"),
        ('say {"api_key": "abcdefghijklmnop"}', 'say {"api_key": "••••mnop"}'),
        ("?access_token=abcdefghijklmnop&page=2", "?access_token=••••mnop&page=2"),
        ("my password: forgotten, the token is gone", "my password: forgotten, the token is gone"),
        ("max_tokens=100000", "max_tokens=100000"),
        ("secret=", "secret="),
        ("order 8812 of 2026", "order 8812 of 2026"),
    ],
)
def test_secret_shapes_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_of_a_short_secret_nothing_is_shown() -> None:
    assert mask("hunter2") == "•" * 8


def test_a_masked_segment_does_not_carry_the_secret() -> None:
    piece = next(
        piece for piece in segments.split("key rk_live_abcdefgh1234567Qd2") if piece.kind == "secret"
    )
    assert "abcdefgh" not in repr(piece)
