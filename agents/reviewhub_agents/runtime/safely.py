"""Ready-made ways to let a tool run twice and happen once: keys, deduplication in a database, conditional writes.

A tool gets `run.idempotency_key`, the same for every attempt of one call as it was decided. What it may be declared
(`idempotent` or `once`) depends on what the other side does with it:

* it takes a key: send `headers(run)`, and turn its answer into certainty with `answered`;
* it is a database of your own: `deduplicated` puts effect and key into one transaction;
* it has versions (ETags, a counter, a hash): `conditionally` writes only over what it has read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from reviewhub_agents import canonical

from .errors import ToolError
from .tools import ToolRun

V = TypeVar("V")
W = TypeVar("W")

TABLE = "CREATE TABLE IF NOT EXISTS done_calls (key TEXT PRIMARY KEY, result TEXT NOT NULL)"
"""The table that `deduplicated` needs, in SQLite's and PostgreSQL's words."""

PERHAPS = frozenset({408, 409, 425, 429})
"""Refusals (4xx) after which it may have happened, or may yet: too slow, already under way, too early, too many."""


class Cursor(Protocol):
    """As much of a DB-API cursor as is needed."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Any:
        """Runs a statement."""

    def fetchone(self) -> Any:
        """The next row."""


class Connection(Protocol):
    """As much of a DB-API connection as is needed. It must not commit by itself."""

    def cursor(self) -> Any:
        """A new cursor."""

    def commit(self) -> None:
        """Makes it so."""

    def rollback(self) -> None:
        """Makes it not so."""


def headers(run: ToolRun) -> dict[str, str]:
    """What to send along to a service that knows idempotency keys."""
    return {"Idempotency-Key": run.idempotency_key}


def answered(status: int, said: str = "") -> None:
    """Says what an HTTP status means for the call: nothing for 2xx.

    Raises:
        ToolError: the other side refused and did nothing (4xx); the call has failed, and may be tried again.
        RuntimeError: nobody knows (redirects, 5xx, and those in PERHAPS): a `once` call goes to a person.
    """
    if 200 <= status < 300:
        return
    if 400 <= status < 500 and status not in PERHAPS:
        raise ToolError(f"refused with {status}: {said}")
    raise RuntimeError(f"answered with {status}: {said}")


def deduplicated(
    connection: Connection, run: ToolRun, act: Callable[[Any], V], *, mark: str = "?"
) -> V | Any:
    """What `act(cursor)` returned when it ran first under this key; it and the key are one transaction.

    The table `done_calls` (`TABLE`) has to be there. Two attempts at once: the database lets one commit, and takes back
    what the other did.

    Args:
        act: does the effect by the cursor it is given, and nothing else; its result has to be JSON.
        mark: how the driver marks parameters: `?` (sqlite3) or `%s` (psycopg).

    Raises:
        Exception: what `act` or the database raised; nothing has happened then.
    """
    cursor = connection.cursor()
    try:
        cursor.execute(f"SELECT result FROM done_calls WHERE key = {mark}", (run.idempotency_key,))  # noqa: S608
        row = cursor.fetchone()
        if row is not None:
            connection.rollback()
            return canonical.plain(canonical.reread(row[0]))
        result = act(cursor)
        text = canonical.dumps(result)
        cursor.execute(
            f"INSERT INTO done_calls (key, result) VALUES ({mark}, {mark})",  # noqa: S608
            (run.idempotency_key, text),
        )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return result


def conditionally(
    *,
    read: Callable[[], tuple[V, W]],
    is_done: Callable[[V], bool],
    change: Callable[[V], V],
    write: Callable[[V, W], bool],
    tries: int = 3,
) -> V:
    """Changes a value only over the version that was read; a repeat finds it changed and leaves it.

    Args:
        read: the value and its version.
        is_done: whether the value is as this call wants it; asked before each write, so a repeat writes nothing.
        change: the new value.
        write: writes it if the version is still that one; says whether it was.

    Raises:
        ToolError: others were quicker every time; nothing of this call has happened.
    """
    for _ in range(tries):
        value, version = read()
        if is_done(value):
            return value
        changed = change(value)
        if write(changed, version):
            return changed
    raise ToolError(f"others changed it meanwhile, {tries} times")
