"""The shop that the support agent works for: a SQLite file with orders, refunds and moves, and a mailbox folder.

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

from reviewhub_agents.demos import mailbox

FOLDER = "REVIEWHUB_DEMO"
_TABLES = """
CREATE TABLE IF NOT EXISTS orders
    (id TEXT PRIMARY KEY, customer TEXT, email TEXT, item TEXT, paid TEXT, arrived TEXT, address TEXT);
CREATE TABLE IF NOT EXISTS refunds
    (id INTEGER PRIMARY KEY, order_id TEXT, amount TEXT, key TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS moves
    (id INTEGER PRIMARY KEY, order_id TEXT, before TEXT, after TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
"""
_ORDERS = (
    (
        "8812",
        "Mona",
        "mona@example.com",
        "Standing desk, oak",
        "1240.00",
        "with a crushed corner",
        "4 Mill Lane",
    ),
    ("9077", "Ravi", "ravi@example.com", "Desk lamp", "59.00", "nine days late", "12 Harbour Street"),
    ("9134", "Lucia", "lucia@example.com", "Office chair", "329.00", "in time", "7 Orchard Road"),
    ("9201", "Tomas", "tomas@example.com", "Bookshelf", "189.00", "not yet", "31 Station Square"),
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
    address: str


class OnItsWay(Exception):
    """It arrived: where it goes cannot be changed any more."""


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


def move(*, number: str, address: str) -> str:
    """Sends an order that has not arrived to another address; where it went before. Once more does nothing.

    Raises:
        NoSuchOrder, OnItsWay: nothing was changed.
    """
    with _open() as shop:
        row = shop.execute("SELECT address, arrived FROM orders WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise NoSuchOrder(f"there is no order {number!r}")
        if row[1] != "not yet":
            raise OnItsWay(f"order {number} has arrived already")
        if row[0] != address:
            shop.execute("UPDATE orders SET address = ? WHERE id = ?", (address, number))
            moved = (number, row[0], address)
            shop.execute("INSERT INTO moves (order_id, before, after) VALUES (?, ?, ?)", moved)
    return str(row[0])


def send(*, recipient: str, subject: str, body: str, key: str) -> bool:
    """Puts an e-mail into the mailbox once per key; false when it is there already."""
    return mailbox.deliver(folder() / "mailbox", recipient=recipient, subject=subject, body=body, key=key)


def refunds() -> list[tuple[str, str, str]]:
    """Every refund that was paid: order, amount, key."""
    with _open() as shop:
        return shop.execute("SELECT order_id, amount, key FROM refunds ORDER BY id").fetchall()


def moves() -> list[tuple[str, str, str]]:
    """Every change of an address: order, before, after."""
    with _open() as shop:
        return shop.execute("SELECT order_id, before, after FROM moves ORDER BY id").fetchall()


def emails() -> list[tuple[str, str]]:
    """Every e-mail in the mailbox: recipient, subject."""
    return [(str(one["To"]), str(one["Subject"])) for one in mailbox.letters(folder() / "mailbox")]


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place / "orders.sqlite3", timeout=20)) as shop, shop:
        shop.execute("PRAGMA synchronous=FULL")
        shop.executescript(_TABLES)
        shop.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", _ORDERS)
        yield shop
