"""Whom an agent says it acts for, as four eyes read it."""

from __future__ import annotations

import pytest

from reviewhub.reviews import named
from reviewhub.reviews.named import names, readings, stands_in


@pytest.mark.parametrize(
    "text",
    [
        "bob@example.com",
        "Bob@Example.COM",
        "Bob <bob@example.com>",
        "user:bob@example.com",
        "mailto:bob@example.com",
        "id=bob@example.com",
        "/bob@example.com/",
        "bob@example.com.",
        "It is for bob@example.com. Nobody else.",
        "bob%40example.com",
        "bob%2540example.com",
        '"bob"@example.com',
        "'bob@example.com'",
        "\uff22ob\u200b@example\uff0ecom",
        "alice@example.com,bob@example.com",
        "bob@example.com|x",
    ],
)
def test_it_is_named(text: str) -> None:
    assert names(text, "bob@example.com")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Bob",
        "jimbob@example.com",
        "jim.bob@example.com",
        "bob@example.company",
        "bob@example.com.au",
        "bob@example.com-pany.org",
        "bob+x@example.com",
        "bob@example",
    ],
)
def test_it_is_another(text: str) -> None:
    assert not names(text, "bob@example.com")


def test_an_address_may_be_written_wide_itself() -> None:
    assert names("bob@example.com", "Bob@EXAMPLE.com")


@pytest.mark.parametrize(
    "text",
    [
        "b\u043eb@example.com",
        "b\u00f3b@example.com",
        "bob@ex\u0430mple.com",
        "for b\u0336ob@example.com, please",
        "bob@example\u3002com",
        "bob&#64;example.com",
        "bob&amp;#x40;example.com",
        "bob @ example.com",
        "bob\u00a0@example. com",
        "\U0001d41bob@example.com",
    ],
)
def test_what_looks_like_it_names_it(text: str) -> None:
    assert names(text, "bob@example.com")


@pytest.mark.parametrize("text", ["jimb\u043eb@example.com", "b\u043eb@example.company", "jim @ example.com"])
def test_what_looks_like_another_does_not(text: str) -> None:
    assert not names(text, "bob@example.com")


def test_a_text_is_read_once_for_all_who_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a text of ligatures reads takes milliseconds, and a workspace may have thousands of members."""
    read: list[str] = []
    plain = named._plain

    def noted(text: str) -> str:
        read.append(text)
        return plain(text)

    monkeypatch.setattr(named, "_plain", noted)
    found = readings(["\ufdfa" * 255])
    assert not any(stands_in(f"person{at}@example.com", found) for at in range(50))
    assert [text for text in read if "@" not in text] == ["\ufdfa" * 255] * 2
