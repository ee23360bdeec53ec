"""The office that the claims agent works for: made-up documents, and books in a SQLite file of its own."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from reviewhub_agents.demos.support_shop import folder
from reviewhub_agents.runtime.models import Message

DOCUMENTS = 200
LIMIT = Decimal("2500.00")
Verdict = Literal["pay", "reject", "unclear"]
_TABLES = """
CREATE TABLE IF NOT EXISTS bookings
    (key TEXT PRIMARY KEY, number INTEGER, verdict TEXT, amount TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS payments
    (id INTEGER PRIMARY KEY, claims INTEGER, total TEXT, key TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
"""
_WHAT = (
    "A burst pipe flooded the kitchen.",
    "The bicycle was stolen from the yard.",
    "Hail broke two windows.",
)
_HOW = ("The bill is enclosed.", "Photos are enclosed.", "The bill will follow.", "I have no bill any more.")


@dataclass(frozen=True)
class Document:
    """A claim as it came in, and how many minutes a person would need for it."""

    number: int
    text: str
    minutes: float


def document(number: int) -> Document:
    """One document; the same number is the same document every time."""
    dice = int.from_bytes(hashlib.sha256(f"claim {number}".encode()).digest()[:4])
    amount = Decimal(40 + dice % 3200) + Decimal(dice % 100) / 100
    text = (
        f"Claim {number}. {_WHAT[dice % 3]} {_HOW[dice // 7 % 4]} Please pay ${amount:.2f}. "
        f"Policy {10_000 + dice % 90_000}, {'lapsed' if dice % 11 == 0 else 'in force'}."
    )
    return Document(number=number, text=text, minutes=1 + dice % 240 / 80)


def judge(messages: list[Message]) -> Message:
    """The "model": a verdict and an amount, by rules. It needs no key and costs nothing."""
    text = str(messages[-1]["content"])
    found = re.search(r"\$(\d+\.\d\d)", text)
    amount = Decimal(found[1]) if found else Decimal(0)
    verdict: Verdict = "pay"
    if "lapsed" in text:
        verdict, amount = "reject", Decimal("0.00")
    elif "no bill" in text or "will follow" in text or amount > LIMIT:
        verdict = "unclear"
    return {"role": "assistant", "content": f"{verdict} {amount}"}


def book(number: int, *, verdict: Verdict, amount: str, key: str) -> bool:
    """Books a verdict once per key; false when it is booked already."""
    with _open() as books:
        done = books.execute(
            "INSERT OR IGNORE INTO bookings (key, number, verdict, amount) VALUES (?, ?, ?, ?)",
            (key, number, verdict, amount),
        )
    return done.rowcount == 1


def payable(documents: int) -> Decimal:
    """What the documents up to this one come to, counted anew."""
    said = [str(judge([{"content": document(n).text}])["content"]).split() for n in range(1, documents + 1)]
    return sum((Decimal(amount) for verdict, amount in said if verdict == "pay"), Decimal("0.00"))


def unclear(documents: int) -> int:
    """How many of the documents up to this one are unclear, counted anew."""
    said = (judge([{"content": document(n).text}])["content"] for n in range(1, documents + 1))
    return sum(str(one).startswith("unclear") for one in said)


def pay(total: str, *, claims: int, key: str) -> int:
    """Pays, every time it is called; the number of the payment."""
    with _open() as books:
        done = books.execute(
            "INSERT INTO payments (claims, total, key) VALUES (?, ?, ?)", (claims, total, key)
        )
    return int(done.lastrowid or 0)


def bookings() -> list[tuple[int, str, str]]:
    """Every booking: number, verdict, amount."""
    with _open() as books:
        return books.execute("SELECT number, verdict, amount FROM bookings ORDER BY number, key").fetchall()


def payments() -> list[tuple[int, str]]:
    """Every payment: claims, total."""
    with _open() as books:
        return books.execute("SELECT claims, total FROM payments ORDER BY id").fetchall()


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place / "claims.sqlite3", timeout=20)) as books, books:
        books.execute("PRAGMA synchronous=FULL")
        books.executescript(_TABLES)
        yield books
