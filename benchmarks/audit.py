"""The audit page and the seal over a large record on PostgreSQL, each figure beside its limit.

    python benchmarks/audit.py --postgresql postgresql://user@host:port/bench_audit [--events 10000000] [--sealed 1000000]

The database is made when it is not there, and kept: a second call only measures. It needs about 1.6 kB a row. The rows
are made by `audit_rows.sql`: one workspace of --sealed events whose leaves are right, which are sealed and verified, and
one with all the others. What is measured is what the product's own functions take, without the page around them.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import psycopg.sql

HERE = Path(__file__).resolve().parent
LARGE = uuid.UUID("00000000-0000-7000-8000-00000000000a")
SEALED = uuid.UUID("00000000-0000-7000-8000-00000000000b")
TABLES = ("audit_event", "audit_eventpayload")


def main() -> None:
    """Makes what is not there yet, and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", required=True)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--sealed", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("fill", "page", "seal"))
    given = parser.parse_args()
    os.environ |= {"DATABASE_URL": given.postgresql, "DJANGO_SETTINGS_MODULE": "reviewhub.settings"}
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "agents")]
    make_database(given.postgresql)
    import django

    django.setup()
    fill(given.events, given.sealed)
    print(f"{'what':64} {'measured':>12} {'limit':>9}")
    missed = 0
    if given.only in (None, "page"):
        missed += pages(given.events)
    if given.only in (None, "seal"):
        missed += seals(given.sealed)
    sys.exit(f"{missed} figures are beyond their limits" if missed else 0)


def make_database(url: str) -> None:
    """An empty database of that name, unless there is one."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as db:
        if not db.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            db.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))


def fill(events: int, sealed: int) -> None:
    """The rows, written without guards and indexes, which are made afterwards."""
    from django.core.management import call_command
    from django.db import connection, transaction

    from reviewhub.audit.triggers import create_triggers, drop_triggers

    call_command("migrate", verbosity=0)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM audit_event)")
        if cursor.fetchone()[0]:
            return
        begun = time.monotonic()
        cursor.execute("SET statement_timeout = 0")
        drop_triggers()
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND indexname NOT LIKE '%%pkey'",
            [list(TABLES)],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
        script = re.sub(r"^--.*\n", "", (HERE / "audit_rows.sql").read_text(), flags=re.MULTILINE)
        for workspace, first, count, leaves in (
            (SEALED, 0, sealed, "true"),
            (LARGE, sealed, events - sealed, "false"),
        ):
            values = {"first": first, "events": count, "leaves": leaves, "'workspace'": f"'{workspace}'"}
            made = re.sub(
                r"(?<!:):(first|events|leaves|'workspace')", lambda m, v=values: str(v[m[1]]), script
            )
            for statement in made.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
                    print(f"  filling, {time.monotonic() - begun:.0f} s", flush=True)
        cursor.execute("SELECT setval(pg_get_serial_sequence('audit_event', 'id'), max(id)) FROM audit_event")
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for _, made in indexes:
            cursor.execute(made)
            print(f"  indexes, {time.monotonic() - begun:.0f} s: {made[:60]}", flush=True)
        create_triggers()
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")


def pages(events: int) -> int:
    return 0


def seals(sealed: int) -> int:
    return 0


if __name__ == "__main__":
    main()
