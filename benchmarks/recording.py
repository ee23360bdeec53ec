"""What recording an event costs beside the bare insert of the same rows, alone and by several writers at once.

    python benchmarks/recording.py --postgresql postgresql://user@host:port/bench_recording [--events 300] [--writers 8]

The database is made when it is not there, and kept. Both sides take turns, event by event, through the same Django
cursor: `record()`, and the INSERT that it sent, with its parameters as they were. Each is a transaction of its own
that commits. With several writers each is a process, first all with one side, then all with the other.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import audit as record_benchmark

HERE = Path(__file__).resolve().parent
LIMIT = 1.3
Statement = tuple[str, list[Any]]


def main() -> None:
    """Makes the database, and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", required=True)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--writers", type=int, default=8)
    given = parser.parse_args()
    os.environ |= {"DATABASE_URL": given.postgresql, "DJANGO_SETTINGS_MODULE": "reviewhub.settings"}
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "agents")]
    record_benchmark.make_database(given.postgresql)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    recorded, bare = alone(given.events)
    beyond = told("one writer, ms an event (median)", recorded * 1000, bare * 1000)
    recorded, bare = (crowd(side, given.writers, given.events) for side in ("record", "bare"))
    beyond += told(f"{given.writers} writers, ms an event of all", recorded * 1000, bare * 1000)
    sys.exit(f"{beyond} figures are beyond {LIMIT}" if beyond else 0)


def told(said: str, recorded: float, bare: float) -> int:
    """Prints both and their ratio; 1 when it is beyond the limit."""
    ratio = recorded / bare
    print(f"{said:40} recorded {recorded:7.3f}  bare {bare:7.3f}  {ratio:5.2f}x  limit {LIMIT}x")
    return int(ratio > LIMIT)


def sides() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """`record()` of an event, and the bare inserts of the same rows."""
    from django.db import connection

    from reviewhub.accounts.kinds import TeamMade
    from reviewhub.audit.record import record
    from reviewhub.core.actors import SYSTEM

    workspace, sent = uuid.uuid4(), list[Statement]()

    def write() -> int:
        return int(record("team.made", workspace_id=workspace, actor=SYSTEM, data=TeamMade(name="Night")).pk)

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "INSERT INTO audit_event" in sql:
            sent.append((sql, list(params)))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        commit(write)
    ((statement, params),) = sent

    def bare() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            cursor.fetchone()

    return write, bare


def commit(do: Callable[[], Any]) -> Any:
    """In a transaction of its own."""
    from django.db import transaction

    with transaction.atomic():
        return do()


def alone(events: int) -> tuple[float, float]:
    """Seconds of each, the median; event by event in turn."""
    both = sides()
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(events):
        for side in (0, 1) if number % 2 else (1, 0):
            begun = time.perf_counter()
            commit(both[side])
            times[side].append(time.perf_counter() - begun)
    return statistics.median(times[0]), statistics.median(times[1])


def crowd(side: str, writers: int, events: int) -> float:
    """Seconds for one event of all that the writers write at once."""
    from django.db import connection

    connection.close()
    ready = multiprocessing.Barrier(writers + 1)
    crew = [multiprocessing.Process(target=_write, args=(side, events, ready)) for _ in range(writers)]
    for one in crew:
        one.start()
    ready.wait()
    begun = time.perf_counter()
    for one in crew:
        one.join()
    if any(one.exitcode for one in crew):
        sys.exit("a writer failed")
    return (time.perf_counter() - begun) / (writers * events)


def _write(side: str, events: int, ready: Any) -> None:
    write, bare = sides()
    do = write if side == "record" else bare
    ready.wait()
    for _ in range(events):
        commit(do)


if __name__ == "__main__":
    main()
