"""The audit page and the seal over a large record on PostgreSQL, each figure beside its limit.

    python benchmarks/audit.py --postgresql postgresql://user@host:port/bench_audit [--events …] [--sealed …]

The database is made when it is not there, and kept: a second call only measures. It needs about 1.6 kB a row. The
rows are made by `audit_rows.sql`: one workspace of --sealed events whose leaves are right, which are sealed and
verified, and one with all the others. What is measured is what the product's own functions take, without the page
around them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import statistics
import subprocess
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
KEPT = 50_000
"""Events that stay without a seal, so that sealing can be measured again."""
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
        cursor.execute("SET session_replication_role = replica")  # no foreign key is looked up, row by row
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
        cursor.execute("RESET session_replication_role")
        create_triggers()
    with connection.cursor() as cursor:
        for table in (*TABLES, "runs_words"):
            cursor.execute(f"VACUUM ANALYZE {table}")


def pages(events: int) -> int:
    """The page with each filter, alone and together, and searches; how many figures are beyond their limit."""
    from reviewhub.audit.queries import Filters, cursor, list_events
    from reviewhub.audit.search import search_events

    agent, person, run, request = (
        uuid.UUID(f"00000000-0000-7000-{group}-{number:012x}")
        for group, number in (("9000", 7), ("8000", 7), ("a000", events // 40), ("b000", events // 20))
    )
    team = tuple(uuid.UUID(f"00000000-0000-7000-9000-{number:012x}") for number in range(5))
    march, april = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    filters = {
        "no filter": {},
        "kind": {"kind": "request.decided"},
        "kind of actor, rare": {"actor_kind": "timeout"},
        "person": {"actor_id": person},
        "everything about a person": {"about_id": person},
        "nobody": {"actor_id": uuid.UUID(int=1)},
        "agent": {"agent_id": agent},
        "tool": {"tool": "tool.42"},
        "team of five agents": {"team_id": uuid.UUID(int=1), "agent_ids": team},
        "run": {"run_id": run},
        "request": {"request_id": request},
        "a month": {"since": march, "until": april},
        "person, kind": {"actor_id": person, "kind": "request.decided"},
        "person, a kind they never did": {"actor_id": person, "kind": "run.started"},
        "kind, a kind of actor that never did it": {"kind": "request.voted", "actor_kind": "agent"},
        "agent of another team": {"agent_id": agent, "team_id": uuid.UUID(int=1), "agent_ids": team},
        "team, kind, a month": {
            "team_id": uuid.UUID(int=1),
            "agent_ids": team,
            "kind": "request.decided",
            "since": march,
            "until": april,
        },
        "person, tool": {"actor_id": person, "tool": "tool.42"},
        "person, tool, kind, a month": {
            "actor_id": person,
            "tool": "tool.42",
            "kind": "request.decided",
            "since": march,
            "until": april,
        },
        "agent, tool, a month": {"agent_id": agent, "tool": "tool.42", "since": march, "until": april},
    }
    missed = 0
    for said, given in filters.items():
        asked = Filters(**given)
        missed += told(f"page: {said}", 100, lambda one=asked: list_events(workspace_id=LARGE, filters=one))
    deep = cursor(datetime(2026, 1, 3, tzinfo=UTC), 2**62)
    missed += told("page: no filter, a year back", 100, lambda: list_events(workspace_id=LARGE, before=deep))
    searches = {
        "frequent": "refund",
        "one order": f"order {events // 40} of",
        "rare, all over": "parcel was crushed",
        "an argument": f'"order":"{events // 40}"',
        "a name, frequent": "Nakamura",
        "an amount, with commas": "79,190.00",
        "a call, by what only its arguments say": hashlib.md5(str(events // 40).encode()).hexdigest()[:12],
        "a person and a call": f"Person {events // 20}",
        "nothing": "zeppelin",
        "two letters, nothing": "zq",
        "a phrase, frequent": '"out 1"',
        "two words, each frequent": "letter Haddad",
        "two words, never together": "refund zeppelin",
        "a word and a rare one": "Miller crushed",
    }
    for said, text in searches.items():
        asked = Filters(text=text)
        missed += told(
            f"search: {said}", 1000, lambda one=asked: search_events(workspace_id=LARGE, filters=one)
        )
    decided = Filters(text=f"{events // 40}", kind="request.decided")
    missed += told(
        "search: one order, of a kind", 1000, lambda: search_events(workspace_id=LARGE, filters=decided)
    )
    both = Filters(text="crushed", actor_id=person)
    missed += told(
        "search: rare, of one person", 1000, lambda: search_events(workspace_id=LARGE, filters=both)
    )
    return missed


def told(said: str, limit: float, do: Callable[[], Any], *, times: int = 5, unit: str = "ms") -> int:
    """Prints the median of some calls beside the limit, both in milliseconds; 1 when it is beyond."""
    found, result = [], None
    for _ in range(times):
        begun = time.perf_counter()
        result = do()
        found.append((time.perf_counter() - begun) * 1000)
    took = statistics.median(found)
    many = f", {len(result.events)} rows" if hasattr(result, "events") else ""
    more = ", not all looked at" if getattr(result, "reached", None) else ""
    print(
        f"{said + many + more:64} {took:9.1f} {unit} {limit:6.0f} {unit} {'' if took <= limit else 'BEYOND'}"
    )
    return int(took > limit)


def seals(sealed: int) -> int:
    """Sealing 10,000 events of many, and verifying all that are sealed."""
    from django.conf import settings

    from reviewhub.audit.models import Position
    from reviewhub.audit.seal import due, seal
    from reviewhub.audit.verify import verify

    missed = 0
    settings.AUDIT_KEYS = Path(tempfile.gettempdir()) / "bench_audit_keys"
    due()
    left = sealed - Position.objects.filter(workspace_id=SEALED).count()

    def ten_thousand() -> int:
        done = 0
        while done < 10_000 and (made := seal(SEALED)):
            done += made.events
        return done

    if left:
        missed += told("sealing 10,000 events", 2000, ten_thousand, times=1)
    while sealed - Position.objects.filter(workspace_id=SEALED).count() > KEPT and seal(SEALED):
        pass
    begun = time.monotonic()
    found = verify(SEALED)
    took = time.monotonic() - begun
    missed += verified(f"verifying {found.events:,} events", found.events, took, str(found.broken or ""))
    return missed + alone(found.events)


def alone(events: int) -> int:
    """The same of an export, by the verifier that needs no ReviewHub; 1 when it takes too long or finds something."""
    from django.db import transaction

    from reviewhub.audit import keys
    from reviewhub.audit.export import export_range
    from reviewhub.core.actors import SYSTEM

    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle.jsonl"
        begun = time.monotonic()
        with transaction.atomic():
            made = export_range(workspace_id=SEALED, actor=SYSTEM)
        with bundle.open("xb") as file:
            file.writelines(made.lines)
        print(
            f"exporting them, {bundle.stat().st_size / 1e6:,.0f} MB: {time.monotonic() - begun:.1f} s",
            flush=True,
        )
        script = HERE.parent / "agents" / "reviewhub_agents" / "verify_audit.py"
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, script, bundle, "--key", keys.newest().public], stdout=subprocess.PIPE, text=True
        )
        took = time.monotonic() - begun
    said = "" if done.returncode == 0 else done.stdout
    return verified("verifying the export without ReviewHub", events, took, said)


def verified(said: str, events: int, took: float, broken: str) -> int:
    """Prints how long it took beside the limit; 1 when it is beyond, or something was found."""
    limit = 60 * events / 1_000_000
    print(f"{said}: {took:.1f} s, limit {limit:.1f} s; {broken or 'nothing is broken'}", flush=True)
    return int(took > limit or bool(broken))


if __name__ == "__main__":
    main()
