"""The SQL that saves a checkpoint and reads it back. It is written by hand so that on PostgreSQL one statement does all
of a save: it costs one round trip, and there is no moment between its parts. A state is read by two short statements;
composing them anew each time cost more than answering them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection
from django.utils.timezone import make_aware
from psycopg import Cursor
from psycopg.pq import Format

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch

NAMES: Final = tuple(field.attname for field in Checkpoint._meta.concrete_fields)
"""The columns of a checkpoint, its id first."""
_IDS: Final = ("id", "workspace_id", "run_id", "branch_id", "parent_id")

# head: moves the branch on, if its head and its epoch are still those that the writer knows. All else reads from it,
# so a lost race writes nothing at all, and a checkpoint is in the workspace and the run of its branch.
# kept: the blobs that are named for the first time. Those that are there already stay as they are, but their rows are
# held until the commit: none of them moves to a blob store while nobody sees yet that this head names it. One that has
# moved comes back, since a head must not need a store.
_HEAD: Final = """
WITH head AS (
    UPDATE runs_branch SET head = %(id)s
    WHERE id = %(branch_id)s AND epoch = %(epoch)s AND head IS NOT DISTINCT FROM %(head)s
    RETURNING id, run_id, workspace_id
)"""
_KEPT: Final = """, kept AS (
    INSERT INTO checkpoints_blob (run_id, hash, data)
    SELECT head.run_id, given.hash, given.data
    FROM head, unnest(%(hashes)s::bytea[], %(datas)s::bytea[]) AS given (hash, data)
    ON CONFLICT (run_id, hash) DO UPDATE SET data = excluded.data WHERE checkpoints_blob.data IS NULL
)"""
_ROW: Final = """
INSERT INTO checkpoints_checkpoint (
    id, workspace_id, run_id, branch_id, parent_id, number, base, node, step, plan,
    state_hash, raw_length, content, reason, author_kind, author_name, created_at,
    state_schema_id, misfits
)
SELECT
    %(id)s, head.workspace_id, head.run_id, head.id, %(parent_id)s, %(number)s, %(base)s, %(node)s, %(step)s,
    %(plan)s, %(state_hash)s, %(raw_length)s, %(content)s, %(reason)s, %(author_kind)s, %(author_name)s,
    %(created_at)s, %(state_schema_id)s, %(misfits)s
FROM head
"""
# odd: those that were there already in other bytes than these. The statement sees them as they were before it.
_ODD: Final = """RETURNING (
    SELECT array_agg(here.hash)
    FROM unnest(%(hashes)s::bytea[], %(datas)s::bytea[]) AS given (hash, data)
    JOIN checkpoints_blob AS here ON here.run_id = checkpoints_checkpoint.run_id AND here.hash = given.hash
    WHERE here.data <> given.data
)
"""
POSTGRESQL: Final = _HEAD + _ROW
# Most saves name no new blob; what is not there need not be planned.
POSTGRESQL_BLOBS: Final = _HEAD + _KEPT + _ROW + _ODD

# The same in steps; SQLite's IMMEDIATE transaction lets nobody in between. There no INSERT names a key that is there,
# not even one that would do nothing: the guards refuse it before they can know that (`audit.triggers`).
SQLITE_HEAD: Final = "UPDATE runs_branch SET head = %s WHERE id = %s AND epoch = %s AND head IS %s"
SQLITE_BLOB: Final = """
INSERT INTO checkpoints_blob (run_id, hash, data)
SELECT given.run_id, given.hash, given.data FROM (SELECT %s AS run_id, %s AS hash, %s AS data) AS given
WHERE NOT EXISTS (
    SELECT 1 FROM checkpoints_blob AS here WHERE here.run_id = given.run_id AND here.hash = given.hash
)
"""
SQLITE_HOME: Final = """
UPDATE checkpoints_blob SET data = %s WHERE run_id = %s AND hash = %s AND data IS NULL
"""
SQLITE_ODD: Final = "SELECT 1 FROM checkpoints_blob WHERE run_id = %s AND hash = %s AND data <> %s"
# In the order of NAMES.
SQLITE_ROW: Final = """
INSERT INTO checkpoints_checkpoint (
    id, workspace_id, run_id, branch_id, parent_id, number, base, node, step, plan,
    state_hash, raw_length, content, reason, author_kind, author_name, created_at,
    state_schema_id, misfits
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
ROWS: Final = """
SELECT content FROM checkpoints_checkpoint
WHERE branch_id = %s AND number >= %s AND number <= %s
ORDER BY number
"""
# A list shows all but the content; workspace, run and branch are known to who asks.
_SHOWN: Final = tuple(name for name in NAMES if name != "content")
LIST: Final = """
SELECT
    id, parent_id, number, base, node, step, plan, state_hash, raw_length, reason, author_kind, author_name,
    created_at, state_schema_id, misfits
FROM checkpoints_checkpoint
WHERE branch_id = %s AND number < %s
ORDER BY number DESC LIMIT %s
"""
POSTGRESQL_READ: Final = (
    "SELECT hash, data, location FROM checkpoints_blob WHERE run_id = %s AND hash = ANY(%s::bytea[])"
)
SQLITE_READ: Final = "SELECT hash, data, location FROM checkpoints_blob WHERE run_id = %s AND hash IN ({})"


def write_checkpoint(
    values: dict[str, Any], *, epoch: int, head: uuid.UUID | None, blobs: dict[bytes, bytes]
) -> list[bytes] | None:
    """Moves a branch from `head` to a checkpoint and writes its row and its blobs, in the caller's transaction.

    Args:
        values: the row, a value for each of NAMES.
        epoch: that of the branch for which the caller was let in.
        head: the id that the branch's head must still have; None for none.
        blobs: hash → packed bytes.

    Returns:
        The hashes of blobs that were there before in other bytes; None when head or epoch are others by now, and
        nothing is written.
    """
    # In one order, so that two branches of a run never wait for each other's blobs.
    blobs = dict(sorted(blobs.items()))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            given = values | {"epoch": epoch, "head": head}
            if blobs:
                given |= {"hashes": list(blobs), "datas": list(blobs.values())}
            cursor.execute(POSTGRESQL_BLOBS if blobs else POSTGRESQL, given)
            if cursor.rowcount != 1:
                return None
            return [bytes(hash_) for hash_ in cursor.fetchone()[0] or ()] if blobs else []
        given = values | {name: values[name] and values[name].hex for name in _IDS}
        given["created_at"] = connection.ops.adapt_datetimefield_value(values["created_at"])
        cursor.execute(SQLITE_HEAD, (given["id"], given["branch_id"], epoch, head and head.hex))
        if cursor.rowcount != 1:
            return None
        odd: list[bytes] = []
        if blobs:
            run = given["run_id"]
            cursor.executemany(SQLITE_BLOB, [(run, hash_, data) for hash_, data in blobs.items()])
            if cursor.rowcount != len(blobs):
                cursor.executemany(SQLITE_HOME, [(data, run, hash_) for hash_, data in blobs.items()])
                odd = [one for one, data in blobs.items() if _is_odd(cursor, run, one, data)]
        cursor.execute(SQLITE_ROW, [given[name] for name in NAMES])
    return odd


def _is_odd(cursor: Any, run: str, hash_: bytes, data: bytes) -> bool:
    return cursor.execute(SQLITE_ODD, (run, hash_, data)).fetchone() is not None


def read_rows(branch_id: uuid.UUID, *, first: int, last: int) -> list[bytes]:
    """The contents of the rows of a branch with numbers from `first` to `last`, as far as they are there, in order."""
    with _cursor() as cursor:
        cursor.execute(ROWS, (id_(branch_id), first, last))
        return [content for (content,) in cursor.fetchall()]


def read_list(branch: Branch, *, below: int | None, most: int) -> list[Checkpoint]:
    """The newest checkpoints of a branch with numbers below this one, without their contents; at most `most`."""
    with connection.cursor() as cursor:
        cursor.execute(LIST, (id_(branch.pk), 2**31 if below is None else below, most))
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    alias, zone = connection.alias, connection.timezone
    if connection.vendor != "postgresql":
        for row in found:
            row |= {name: uuid.UUID(row[name]) for name in ("id", "parent_id") if row[name] is not None}
            row["created_at"] = make_aware(row["created_at"], zone)
    return [_listed(branch, alias, row) for row in found]


def _listed(branch: Branch, alias: str, row: dict[str, Any]) -> Checkpoint:
    row |= {"workspace_id": branch.workspace_id, "run_id": branch.run_id, "branch_id": branch.pk}
    # Django's own way from a question to rows costs more than the question.
    made = Checkpoint.from_db(alias, _SHOWN, [row[name] for name in _SHOWN])
    made.branch = branch
    return made


def read_blobs(run_id: uuid.UUID, hashes: Collection[bytes]) -> list[tuple[bytes, bytes | None, str | None]]:
    """Hash, packed bytes and location of the blobs of a run that are there; a few hundred hashes at most."""
    with _cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL_READ, (run_id, list(hashes)))
        else:
            marks = ",".join(["%s"] * len(hashes))
            cursor.execute(SQLITE_READ.format(marks), (id_(run_id), *hashes))
        found: list[tuple[bytes, bytes | None, str | None]] = cursor.fetchall()
    return found


@contextmanager
def _cursor() -> Iterator[Any]:
    """Reads bytes as they are: one of Django's gets them from PostgreSQL as hex digits, two for each (a fifth of the
    time that a state of 1 MB takes).
    """
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            yield cursor
        return
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as raw:
        raw.format = Format.BINARY
        yield raw


def id_(value: uuid.UUID) -> uuid.UUID | str:
    """An id as this database keeps it, for SQL that is written by hand."""
    return value if connection.vendor == "postgresql" else value.hex
