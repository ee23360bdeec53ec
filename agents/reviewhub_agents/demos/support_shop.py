"""The shop that the support agent works for: its own SQLite file with orders, refunds and e-mails.

The effects are real rows in a real file, so that a refund that happened twice would be seen. Nothing in it hides
one: `refund` writes a row whenever it is called.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

FOLDER = "REVIEWHUB_DEMO"
_TABLES = """
CREATE TABLE IF NOT EXISTS orders
    (id TEXT PRIMARY KEY, customer TEXT, email TEXT, item TEXT, paid TEXT, arrived TEXT);
CREATE TABLE IF NOT EXISTS refunds
    (id INTEGER PRIMARY KEY, order_id TEXT, amount TEXT, key TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS emails
    (key TEXT PRIMARY KEY, recipient TEXT, subject TEXT, body TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
"""
_ORDERS = (
    ("8812", "Mona", "mona@example.com", "Standing desk, oak", "1240.00", "with a crushed corner"),
    ("9077", "Ravi", "ravi@example.com", "Desk lamp", "59.00", "nine days late"),
    ("9134", "Lucia", "lucia@example.com", "Office chair", "329.00", "in time"),
)


@dataclass(frozen=True)
class Order:
    """One order as the shop knows it."""

    id: str
    customer: str
    email: str
    item: str
    paid: str
    arrived: str


class NoSuchOrder(LookupError):
    """The shop has no order with this number."""


def folder() -> Path:
    """Where the shop lives: the folder that REVIEWHUB_DEMO names, else `var/demo` here."""
    return Path(os.environ.get(FOLDER) or Path("var") / "demo")


def order(number: str) -> Order:
    """One order. Raises NoSuchOrder."""
    with _open() as shop:
        row = shop.execute("SELECT * FROM orders WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise NoSuchOrder(f"there is no order {number!r}")
    return Order(*row)


def refund(*, number: str, amount: Decimal, key: str) -> int:
    """Pays `amount` back, every time it is called; the number of the payment."""
    with _open() as shop:
        done = shop.execute(
            "INSERT INTO refunds (order_id, amount, key) VALUES (?, ?, ?)", (number, str(amount), key)
        )
    return int(done.lastrowid or 0)


def send(*, recipient: str, subject: str, body: str, key: str) -> bool:
    """Sends an e-mail once per key; false when it went out before."""
    with _open() as shop:
        done = shop.execute(
            "INSERT OR IGNORE INTO emails (key, recipient, subject, body) VALUES (?, ?, ?, ?)",
            (key, recipient, subject, body),
        )
    return done.rowcount == 1


def refunds() -> list[tuple[str, str, str]]:
    """Every refund that was paid: order, amount, key."""
    with _open() as shop:
        return shop.execute("SELECT order_id, amount, key FROM refunds ORDER BY id").fetchall()


def emails() -> list[tuple[str, str]]:
    """Every e-mail that went out: recipient, subject."""
    with _open() as shop:
        return shop.execute("SELECT recipient, subject FROM emails ORDER BY at, key").fetchall()


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place / "shop.sqlite3", timeout=20)) as shop, shop:
        shop.execute("PRAGMA synchronous=FULL")
        shop.executescript(_TABLES)
        shop.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?)", _ORDERS)
        yield shop
