"""Texts that an agent made to keep the server busy: looking for secrets and words costs what their length says."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import pytest

from reviewhub.core.display import secrets
from reviewhub.core.words import words_text

LENGTH = 200_000
SECONDS = 0.5
"""What took the square of the length took minutes."""


def seconds(look: Callable[[], object]) -> float:
    began = thread_time()
    look()
    return thread_time() - began


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ-",
        "eyJaaaaaaaa.",
        "eyJaaaaaaaa.eyJ",
        "://",
        "://a:b@ ",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "sk-",
        "token=",
        "password : ",
        "Bearer ",
        "AKIAAAAAAAAAAAAAAAAA ",
        "é",
        "\U0001f600",
        " ",
    ],
)
def test_looking_for_secrets(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    assert seconds(lambda: secrets.masked(text)) < SECONDS


def test_what_holds_too_many_secrets_is_hidden_from_there_on() -> None:
    told = secrets.masked("://a:hunter2@ " * 5000 + "the end")
    assert "hunter2" not in told
    assert "the end" not in told
    assert told.count("://") == 1001


@pytest.mark.parametrize("text", ["a://b:hunter2hunter2@c \ud800", "\ud800 token=hunter2hunter2"])
def test_half_a_character_hides_no_secret(text: str) -> None:
    assert "hunter2hun" not in secrets.masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 50_000 + "\u0327" * 50_000,
        "a" + "\u0301\u0327\u0316" * (LENGTH // 3),
        "\ufdfa" * LENGTH,
        "x " * (LENGTH // 2),
    ],
    ids=["marks in disorder", "marks by turns", "long forms", "one word"],
)
def test_looking_for_words(text: str) -> None:
    assert seconds(lambda: words_text([text])) < SECONDS
    assert seconds(lambda: words_text(text[at : at + 100] for at in range(0, len(text), 100))) < SECONDS


def test_words_of_many_texts_end_together() -> None:
    texts = [f"w{at} " * 500 for at in range(250)]
    assert "w0" in words_text(texts)
    assert "w249" not in words_text(texts)
