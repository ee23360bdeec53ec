"""Follows the audit events of the database and publishes them to the hub: one thread and connection per process.

What is new is found by id. On PostgreSQL a transaction can commit after another one that took a later id; such a
hole in the ids is watched for a minute, so an event is published once whatever the order of the commits. SQLite has one
writer at a time and no such holes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error, connection
from django.db.models import Max, Q

from reviewhub.audit.models import Event
from reviewhub.live.hub import RESYNC, Hint, Hub, hub
from reviewhub.live.looks import Looks
from reviewhub.live.steps import Steps
from reviewhub.live.wakes import Wakes

logger = logging.getLogger(__name__)

CHANNEL = "reviewhub_events"
"""PostgreSQL's notification channel; the payload is empty, since it is only a hint."""

QUIET_SECONDS = 0.02
"""For so long after a notification a process sends no other one; who was notified looks once more after that."""

SQLITE_POLL = 0.05
FALLBACK_POLL = 1.0  # also how often runs are looked at that went on without an event
HOLE_SECONDS = 60.0
HOLES_LOOKED_BACK = 1000
BATCH = 1000
FAILURE_PAUSE = 1.0
FIELDS = ("id", "kind", "workspace_id", "run_id", "pause_id", "request_id", "agent_id")


class Cursor:
    """How far the events are known: the last id, and younger holes before it (id → until when to look)."""

    def __init__(self, *, last: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.last = last
        self.holes: dict[int, float] = {}
        self._clock = clock

    def watch(self, ids: list[int], *, since: int) -> None:
        """Notes the holes between `since` and the newest of the sorted `ids`, which were just seen."""
        until = self._clock() + HOLE_SECONDS
        seen = set(ids)
        for missing in range(max(since + 1, ids[-1] - HOLES_LOOKED_BACK), ids[-1]):
            if missing not in seen:
                self.holes[missing] = until

    def take(self, ids: list[int]) -> None:
        """Counts the sorted `ids` as published."""
        for seen in ids:
            self.holes.pop(seen, None)
        fresh = [seen for seen in ids if seen > self.last]
        if fresh:
            self.watch(fresh, since=self.last)
            self.last = fresh[-1]

    def forget_old_holes(self) -> None:
        """Drops holes that stayed empty for a minute: their transaction was rolled back."""
        now = self._clock()
        self.holes = {missing: until for missing, until in self.holes.items() if until > now}


def read_new(cursor: Cursor) -> list[Hint]:
    """The events not published before, oldest id first, at most BATCH; moves the cursor."""
    cursor.forget_old_holes()
    new = Q(id__gt=cursor.last)
    if cursor.holes:
        new |= Q(id__in=list(cursor.holes))
    rows = list(Event.objects.filter(new).order_by("id").values_list(*FIELDS)[:BATCH])
    if not rows:
        return []
    cursor.take([row[0] for row in rows])
    names = ("event_id", *FIELDS[1:])
    return [Hint(**dict(zip(names, row, strict=True))) for row in rows]


def start_cursor() -> Cursor:
    """A cursor at the newest event; holes shortly before it may still be filled and are watched."""
    last = Event.objects.aggregate(last=Max("id"))["last"] or 0
    cursor = Cursor(last=last)
    if connection.vendor == "postgresql" and last:
        since = max(0, last - HOLES_LOOKED_BACK)
        cursor.watch(
            list(
                Event.objects.filter(id__gt=since, id__lte=last).order_by("id").values_list("id", flat=True)
            ),
            since=since,
        )
    return cursor


class Tailer:
    """The thread. `start` and `stop` may be called from any thread and more than once."""

    def __init__(self, target: Hub) -> None:
        self._hub = target
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self.reading = threading.Event()
        """Set while the database is being followed."""

    def start(self) -> None:
        """Starts following, unless this process does already."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="tailer", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread and its connection; waits for that."""
        with self._lock:
            thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None:
            thread.join(timeout=10)

    def _run(self) -> None:
        cursor: Cursor | None = None
        try:
            while not self._stop.is_set():
                try:
                    cursor = cursor or start_cursor()
                    # What happened before the cursor stood, or while the database was away, may have been missed.
                    self._hub.publish([Hint(event_id=0, kind=RESYNC)])
                    self._follow(cursor)
                except Error:
                    logger.warning("cannot follow the events; trying again", exc_info=True)
                    connection.close()
                    self._stop.wait(FAILURE_PAUSE)
                finally:
                    self.reading.clear()
        finally:
            connection.close()

    def _follow(self, cursor: Cursor) -> None:
        wait = _wait_postgresql if connection.vendor == "postgresql" else _wait_sqlite
        steps, looks, wakes = Steps(), Looks(), Wakes()
        with wait() as news:
            self.reading.set()
            while not self._stop.is_set():
                hints = read_new(cursor)
                is_followed = self._hub.is_followed()
                unsaid = [*looks.look(is_followed=is_followed), *wakes.look(is_followed=is_followed)]
                self._hub.publish([*hints, *steps.look(self._hub.runs()), *unsaid])
                if len(hints) < BATCH:
                    news(self._stop)


@contextmanager
def _wait_sqlite() -> Iterator[Callable[[threading.Event], None]]:
    """Waits until another connection has committed (`data_version` changes exactly then), FALLBACK_POLL at most."""

    def version() -> int:
        with connection.cursor() as sql:
            sql.execute("PRAGMA data_version")
            return int(sql.fetchone()[0])

    known = version()

    def news(stop: threading.Event) -> None:
        nonlocal known
        until = time.monotonic() + FALLBACK_POLL
        while not stop.wait(SQLITE_POLL) and time.monotonic() < until:
            now = version()
            if now != known:
                known = now
                return

    yield news


@contextmanager
def _wait_postgresql() -> Iterator[Callable[[threading.Event], None]]:
    """Waits for a notification, or for FALLBACK_POLL seconds should one have been lost.

    After each it waits only until what was committed in the QUIET_SECONDS behind it is there, too.
    """
    with connection.cursor() as sql:
        sql.execute(f"LISTEN {CHANNEL}")
    driver = connection.connection
    was_notified = False

    def news(stop: threading.Event) -> None:
        nonlocal was_notified
        if not stop.is_set():
            most = QUIET_SECONDS if was_notified else FALLBACK_POLL
            with connection.wrap_database_errors:
                was_notified = bool(list(driver.notifies(timeout=most, stop_after=1)))

    yield news


tailer = Tailer(hub)
"""The one tailer of this process."""
