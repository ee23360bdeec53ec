"""The scratch database of the migration agent: customers and orders in a SQLite file of its own."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from reviewhub_agents.demos.support_shop import folder

_TABLES = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, fax TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, total TEXT NOT NULL);
CREATE TABLE _migrations (key TEXT PRIMARY KEY, statements TEXT NOT NULL, at TEXT DEFAULT CURRENT_TIMESTAMP);
"""
_FIRST = ("Mona", "Ravi", "Lucia", "Tomas", "Aiko", "Jonas", "Priya", "Elif")
_LAST = ("Berg", "Castillo", "Dahl", "Iyer", "Kaya", "Novak", "Okoye", "Sato", "Weiss")
CUSTOMERS, ORDERS = 72, 300
_REFUSED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_TRANSACTION}


class BadStatement(Exception):
    """A statement that cannot run, or was written for another schema: nothing was changed."""


def tables() -> list[str]:
    """The statements that make the tables and indexes there are; the agent's own notes are left out."""
    with _open() as base:
        return _schema(base)


def schema_hash() -> str:
    """A fingerprint of the schema."""
    with _open() as base:
        return _hash(base)


def tried(statements: Sequence[str]) -> dict[str, Any]:
    """What the statements do, on a copy in memory.

    Raises:
        BadStatement: one of them cannot run.
    """
    with _open() as base, closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        base.backup(copy)
        before = _rows(copy)
        changed = _run(copy, statements)
        return {"rows_before": before, "rows_after": _rows(copy), "changed": changed, "tables": _schema(copy)}


def migrated(statements: Sequence[str], *, schema_hash: str, key: str) -> bool:
    """Runs the statements, all or none; false when this key ran already.

    Raises:
        BadStatement: one of them cannot run, or the schema is not the one that they were written for.
    """
    with _open() as base:
        base.execute("BEGIN IMMEDIATE")
        try:
            if base.execute("SELECT 1 FROM _migrations WHERE key = ?", (key,)).fetchone():
                return False
            if _hash(base) != schema_hash:
                raise BadStatement("the schema has changed since this was proposed")
            _run(base, statements)
            base.execute(
                "INSERT INTO _migrations (key, statements) VALUES (?, ?)", (key, ";\n".join(statements))
            )
            base.execute("COMMIT")
        finally:
            if base.in_transaction:
                base.execute("ROLLBACK")
    return True


def migrations() -> list[str]:
    """What ran, the oldest first."""
    with _open() as base:
        return [row[0] for row in base.execute("SELECT statements FROM _migrations ORDER BY at, key")]


def _run(base: sqlite3.Connection, statements: Sequence[str]) -> int:
    """Runs them one by one, without what would leave the database or the transaction; how many rows changed."""
    before = base.total_changes
    base.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in _REFUSED else sqlite3.SQLITE_OK)
    try:
        for statement in statements:
            base.execute(statement)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise BadStatement(f"{statement[:200]}: {error}") from error
    finally:
        base.set_authorizer(None)
    return base.total_changes - before


def _schema(base: sqlite3.Connection) -> list[str]:
    rows = base.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name"
    )
    return [row[0] for row in rows]


def _hash(base: sqlite3.Connection) -> str:
    return hashlib.sha256("\n".join(_schema(base)).encode()).hexdigest()[:16]


def _rows(base: sqlite3.Connection) -> int:
    names = [
        row[0]
        for row in base.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'"
        )
    ]
    counts = [base.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names]  # noqa: S608  names of tables
    return sum(counts)


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place / "scratch.sqlite3", timeout=20, isolation_level=None)) as base:
        base.execute("PRAGMA synchronous=FULL")
        base.execute("BEGIN IMMEDIATE")
        try:
            if not base.execute("SELECT 1 FROM sqlite_master").fetchone():
                _fill(base)
        finally:
            base.execute("COMMIT")
        yield base


def _fill(base: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        base.execute(statement)
    names = [f"{first} {last}" for first in _FIRST for last in _LAST][:CUSTOMERS]
    base.executemany(
        "INSERT INTO customers (name, email, fax) VALUES (?, ?, NULL)",
        [(name, f"{name.lower().replace(' ', '.')}@example.com") for name in names],
    )
    base.executemany(
        "INSERT INTO orders (customer_id, total) VALUES (?, ?)",
        [(1 + number * 7 % CUSTOMERS, f"{20 + number * 13 % 480}.00") for number in range(ORDERS)],
    )
