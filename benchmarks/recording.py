"""What recording an event costs beside the bare insert of the same rows, alone and by several writers at once.

    python benchmarks/recording.py --postgresql postgresql://user@host:port/bench_recording [--events 300] [--writers 8]

The database is made when it is not there, and kept. Both sides take turns, event by event, through the same Django
cursor: `record()`, and one statement that inserts the two rows that it wrote, as plain values. Each is a transaction
of its own that commits. What processors did is that of this process and of the one of the server that serves it (Linux
tells it). With several writers each is a process; all with one side, then all with the other, three times, the median.
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
ROUNDS = 3
PAUSE = 0.03  # seconds; longer than those for which a process sends no other hint


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
    recorded, bare = alone(given.events, pause=PAUSE)
    beyond += told("the same, the hint sent after each", recorded * 1000, bare * 1000)
    beyond += told("one writer, ms of processors an event", *(ms * 1000 for ms in worked(given.events)))
    rounds = [
        (crowd("record", *crew), crowd("bare", *crew)) for crew in [(given.writers, given.events)] * ROUNDS
    ]
    recorded, bare = (statistics.median(one) for one in zip(*rounds, strict=True))
    beyond += told(f"{given.writers} writers, ms an event of all", recorded * 1000, bare * 1000)
    sys.exit(f"{beyond} figures are beyond {LIMIT}" if beyond else 0)


def told(said: str, recorded: float, bare: float) -> int:
    """Prints both and their ratio; 1 when it is beyond the limit."""
    ratio = recorded / bare
    print(f"{said:40} recorded {recorded:7.3f}  bare {bare:7.3f}  {ratio:5.2f}x  limit {LIMIT}x")
    return int(ratio > LIMIT)


def sides() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """`record()` of an event, and the bare insert of the same two rows."""
    from django.db import connection

    from reviewhub.accounts.kinds import TeamMade
    from reviewhub.audit.record import record
    from reviewhub.core.actors import SYSTEM

    workspace = uuid.uuid4()

    def write() -> int:
        return record("team.made", workspace_id=workspace, actor=SYSTEM, data=TeamMade(name="Night")).id

    written = commit(write)
    event, about = row("audit_event", "id", written, but=("id", "xid"))
    payload, words = row(
        "audit_eventpayload", "event_id", written, but=("event_id", "erased_at", "erased_by")
    )
    statement = f"""
        WITH event AS (INSERT INTO audit_event ({event}) VALUES ({marks(about)}) RETURNING id)
        INSERT INTO audit_eventpayload (event_id, {payload}) SELECT id, {marks(words)} FROM event RETURNING event_id"""

    def bare() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, [*about, *words])
            cursor.fetchone()

    return write, bare


def row(table: str, key: str, written: int, *, but: tuple[str, ...]) -> tuple[str, list[Any]]:
    """The names of a row's columns but some, and their values."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE {key} = %s", [written])
        kept = [
            (column.name, value)
            for column, value in zip(cursor.description, cursor.fetchone(), strict=True)
            if column.name not in but
        ]
    return ", ".join(name for name, _ in kept), [value for _, value in kept]


def marks(values: list[Any]) -> str:
    """A placeholder for each."""
    return ", ".join(["%s"] * len(values))


def commit(do: Callable[[], Any]) -> Any:
    """In a transaction of its own."""
    from django.db import transaction

    with transaction.atomic():
        return do()


def alone(events: int, *, pause: float = 0.0) -> tuple[float, float]:
    """Seconds of each, the median; event by event in turn, with a pause before each."""
    both = sides()
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(events):
        for side in (0, 1) if number % 2 else (1, 0):
            time.sleep(pause)
            begun = time.perf_counter()
            commit(both[side])
            times[side].append(time.perf_counter() - begun)
    return statistics.median(times[0]), statistics.median(times[1])


def worked(events: int) -> tuple[float, float]:
    """Seconds of processors for an event of each, by rounds of 20 in turn."""
    from django.db import connection

    both, spent = sides(), [0.0, 0.0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        spent_there = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def spent_so_far() -> float:
        return time.process_time() + int(spent_there.read_text().split()[0]) / 1e9

    for number in range(events // 20 * 2):
        before = spent_so_far()
        for _ in range(20):
            commit(both[number % 2])
        spent[number % 2] += spent_so_far() - before
    return spent[0] / (events // 20 * 20), spent[1] / (events // 20 * 20)


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
