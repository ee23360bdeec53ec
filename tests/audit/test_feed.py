"""The feed loses nothing, whatever the order of the commits."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from reviewhub.audit.feed import feed
from reviewhub.audit.models import Event
from reviewhub.core.errors import Invalid
from tests.audit.test_record import WORKSPACE, write
from tests.audit.waiting import settle

postgresql_only = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one writer at a time: commits cannot be reversed"
)


class Writer(threading.Thread):
    """Another connection: writes one event when told to, and commits when told to."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.wrote, self.commit = threading.Event(), threading.Event()
        self.event_id = 0
        self.start()
        assert self.wrote.wait(20)

    def run(self) -> None:
        try:
            with transaction.atomic():
                self.event_id = write().pk
                self.wrote.set()
                self.commit.wait(20)
        finally:
            self.wrote.set()
            connection.close()

    def end(self) -> None:
        self.commit.set()
        self.join(20)


def read_all(after: str = "") -> list[int]:
    """What a program gets that follows the feed in small steps."""
    found: list[int] = []
    while True:
        batch = feed(workspace_id=WORKSPACE, after=after, limit=2)
        found += [event.pk for event in batch.events]
        if not batch.more:
            return found
        after = batch.cursor


@pytest.mark.django_db(transaction=True)
class TestAcrossTransactions:
    @postgresql_only
    def test_an_event_that_commits_late_is_not_lost(self) -> None:
        first, second = Writer(), Writer()
        assert first.event_id < second.event_id
        second.end()
        early = feed(workspace_id=WORKSPACE)
        first.end()
        settle()
        late = feed(workspace_id=WORKSPACE, after=early.cursor)
        seen = [event.pk for event in (*early.events, *late.events)]
        assert sorted(seen) == [first.event_id, second.event_id]

    @postgresql_only
    def test_nor_one_with_a_later_id_in_an_older_transaction(self) -> None:
        """The trap of (id > last and xid < xmin): the older transaction writes last and commits first."""
        follower: list[int] = []
        cursor = ""
        older, younger = Step(), Step()
        older.begin()  # takes its xid first …
        younger.begin()
        younger.write()
        older.write()  # … and its event's id last
        older.end()
        batch = feed(workspace_id=WORKSPACE, after=cursor)
        follower += [event.pk for event in batch.events]
        younger.end()
        settle()
        batch = feed(workspace_id=WORKSPACE, after=batch.cursor)
        follower += [event.pk for event in batch.events]
        assert sorted(follower) == sorted([older.event_id, younger.event_id])
        assert len(set(follower)) == 2

    @postgresql_only
    def test_nothing_is_handed_out_that_an_open_transaction_may_overtake(self) -> None:
        open_one = Writer()
        with transaction.atomic():
            write()
        assert feed(workspace_id=WORKSPACE).events == []
        open_one.end()
        settle()
        assert len(feed(workspace_id=WORKSPACE).events) == 2

    def test_many_writers_and_one_follower_lose_nothing(self) -> None:
        def work() -> None:
            try:
                for _ in range(10):
                    with transaction.atomic():
                        write()
            finally:
                connection.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        found: list[int] = []
        cursor = ""
        while any(thread.is_alive() for thread in threads):
            batch = feed(workspace_id=WORKSPACE, after=cursor, limit=7)
            found, cursor = found + [event.pk for event in batch.events], batch.cursor
        settle()
        found += read_all(cursor)
        assert len(found) == len(set(found)) == Event.objects.count() == 40


class Step(threading.Thread):
    """Another connection that does one thing at a time, as told."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.todo: list[Callable[[], Any]] = []
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.event_id = 0
        self.start()

    def run(self) -> None:
        try:
            with transaction.atomic():
                while self.go.acquire(timeout=20):
                    job = self.todo.pop()
                    if job is None:
                        break
                    job()
                    self.done.release()
        finally:
            connection.close()
            self.done.release()

    def _do(self, job: Any) -> None:
        self.todo.append(job)
        self.go.release()
        assert self.done.acquire(timeout=20)

    def begin(self) -> None:
        def take() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_current_xact_id()")

        self._do(take)

    def write(self) -> None:
        def one() -> None:
            self.event_id = write().pk

        self._do(one)

    def end(self) -> None:
        self._do(None)
        self.join(20)


@pytest.mark.django_db(transaction=True)
class TestCursor:
    def test_pages_hold_every_event_of_the_workspace_once(self) -> None:
        with transaction.atomic():
            mine = [write().pk for _ in range(5)]
            write(workspace_id=uuid.uuid4())
        settle()
        assert read_all() == mine

    def test_an_empty_batch_keeps_its_place(self) -> None:
        with transaction.atomic():
            write()
        settle()
        cursor = feed(workspace_id=WORKSPACE).cursor
        batch = feed(workspace_id=WORKSPACE, after=cursor)
        assert (batch.events, batch.cursor, batch.more) == ([], cursor, False)
        with transaction.atomic():
            newer = write().pk
        settle()
        assert [event.pk for event in feed(workspace_id=WORKSPACE, after=cursor).events] == [newer]

    def test_there_is_no_cursor_before_the_first_event(self) -> None:
        assert feed(workspace_id=WORKSPACE).cursor == ""

    @pytest.mark.parametrize(
        "cursor",
        ["x", "ü", "MS4x=", "LTEuMQ", "MS4xLjE", "MS5h", "OTk5OTk5OTk5OTk5OTk5OTk5OTkuMQ", "\x00", "MSAuMQ"],
    )
    def test_a_made_up_cursor_is_refused(self, cursor: str) -> None:
        with pytest.raises(Invalid):
            feed(workspace_id=WORKSPACE, after=cursor)
