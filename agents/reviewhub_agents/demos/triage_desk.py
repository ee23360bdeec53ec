"""The desk that the triage agent works at: a morning's made-up messages, and its books in a SQLite file of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from reviewhub_agents.demos.support_shop import folder
from reviewhub_agents.runtime.models import Message

MESSAGES = (
    ("Ines", "What are your opening hours on Saturday?"),
    ("Jonas", "The lamp is lovely, thank you!"),
    ("Kiri", "Two of the six glasses were broken. I would like $18.00 back."),
    ("Leo", "How do I get an invoice for my order?"),
    ("Maja", "Thank you for the quick help last week."),
    ("Nils", "Do you ship to islands?"),
)
"""Who writes, and what; one of them wants money."""
_TABLES = """
CREATE TABLE IF NOT EXISTS credits
    (id INTEGER PRIMARY KEY, message INTEGER, amount TEXT, key TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS answers
    (key TEXT PRIMARY KEY, message INTEGER, text TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS reports
    (key TEXT PRIMARY KEY, text TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
"""


def sort(messages: list[Message]) -> Message:
    """The "model": what a message is, by rules. It needs no key and costs nothing."""
    text = str(messages[-1]["content"])
    kind = "complaint" if "broken" in text else "question" if "?" in text else "praise"
    return {"role": "assistant", "content": kind}


def message(number: int) -> dict[str, str]:
    """One message; they are counted from 1."""
    name, text = MESSAGES[number - 1]
    return {"from": name, "text": text}


def credit(number: int, *, amount: str, key: str) -> int:
    """Credits the sender of a message, every time it is called; the number of the credit."""
    with _open() as books:
        done = books.execute(
            "INSERT INTO credits (message, amount, key) VALUES (?, ?, ?)", (number, amount, key)
        )
    return int(done.lastrowid or 0)


def answer(number: int, *, text: str, key: str) -> bool:
    """Files an answer once per key; false when it is there already."""
    with _open() as books:
        done = books.execute(
            "INSERT OR IGNORE INTO answers (key, message, text) VALUES (?, ?, ?)", (key, number, text)
        )
    return done.rowcount == 1


def report(*, text: str, key: str) -> bool:
    """Files the morning's report once per key; false when it is there already."""
    with _open() as books:
        done = books.execute("INSERT OR IGNORE INTO reports (key, text) VALUES (?, ?)", (key, text))
    return done.rowcount == 1


def credited() -> list[tuple[int, str, str]]:
    """Every credit: message, amount, key."""
    with _open() as books:
        return books.execute("SELECT message, amount, key FROM credits ORDER BY id").fetchall()


def answers() -> list[tuple[int, str]]:
    """Every answer: message, text."""
    with _open() as books:
        return books.execute("SELECT message, text FROM answers ORDER BY message, key").fetchall()


def reports() -> list[str]:
    """Every report."""
    with _open() as books:
        return [text for (text,) in books.execute("SELECT text FROM reports ORDER BY at, key")]


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place / "triage.sqlite3", timeout=20)) as books, books:
        books.execute("PRAGMA synchronous=FULL")
        books.executescript(_TABLES)
        yield books
