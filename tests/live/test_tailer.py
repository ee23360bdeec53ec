"""The tailer: every committed event is published once, whatever the order of the commits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.live import tailer as module
from reviewhub.live.hub import RESYNC, Hint, Hub
from reviewhub.live.tailer import Cursor, Tailer, read_new, start_cursor

WORKSPACE = UUID(int=1)


def event(kind: str = "run.started", **fields: object) -> Event:
    return Event.objects.create(
        workspace_id=WORKSPACE, kind=kind, at=now(), leaf=b"\0" * 32, actor_kind="system", **fields
    )


class Recorder(Hub):
    """Keeps what was published."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[Hint] = []

    def publish(self, hints: object) -> None:
        self.got += hints  # type: ignore[operator]

    def ids(self) -> list[int]:
        return [hint.event_id for hint in self.got if hint.kind != RESYNC]


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


class TestCursor:
    def test_holes_are_watched_for_a_minute(self) -> None:
        time_now = [0.0]
        cursor = Cursor(last=10, clock=lambda: time_now[0])
        cursor.take([11, 14])
        assert (cursor.last, set(cursor.holes)) == (14, {12, 13})
        cursor.take([12])
        assert (cursor.last, set(cursor.holes)) == (14, {13})
        time_now[0] = 61.0
        cursor.forget_old_holes()
        assert cursor.holes == {}

    def test_a_leap_of_the_ids_watches_a_bounded_number(self) -> None:
        cursor = Cursor(last=0)
        cursor.take([5_000_000])
        assert len(cursor.holes) == module.HOLES_LOOKED_BACK


@pytest.mark.django_db(transaction=True)
class TestReading:
    def test_what_is_there_already_is_not_news(self) -> None:
        event()
        assert read_new(start_cursor()) == []

    def test_each_event_is_read_once_with_its_ids(self) -> None:
        cursor = start_cursor()
        first = event(run_id=UUID(int=2), pause_id=UUID(int=3), request_id=UUID(int=4), agent_id=UUID(int=5))
        second = event("run.closed")
        hints = read_new(cursor)
        assert [hint.event_id for hint in hints] == [first.id, second.id]
        assert hints[0].topics() == [
            f"{name}:{UUID(int=number)}"
            for number, name in enumerate(("workspace", "run", "pause", "request", "agent"), 1)
        ]
        assert read_new(cursor) == []

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
    def test_commits_in_reverse_order(self) -> None:
        """The transaction with the lower id commits after the higher one was read."""
        cursor = start_cursor()
        written, commit = threading.Event(), threading.Event()

        def late() -> None:
            with transaction.atomic():
                event("late")
                written.set()
                commit.wait(5)
            connections.close_all()

        thread = threading.Thread(target=late)
        thread.start()
        written.wait(5)
        event("early")
        assert [hint.kind for hint in read_new(cursor)] == ["early"]
        commit.set()
        thread.join()
        assert [hint.kind for hint in read_new(cursor)] == ["late"]
        assert read_new(cursor) == []


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def tailer(transactional_db: None, recorder: Recorder) -> Iterator[Tailer]:
    running = Tailer(recorder)
    running.start()
    assert running.reading.wait(5)
    yield running
    running.stop()


def test_commits_are_published_within_a_second(tailer: Tailer, recorder: Recorder) -> None:
    made = [event().id for _ in range(3)]
    until(lambda: recorder.ids() == made, 1.5)


def test_what_is_rolled_back_is_not_published(tailer: Tailer, recorder: Recorder) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        event("never")
        1 / 0  # noqa: B018
    kept = event("kept")
    until(lambda: bool(recorder.ids()))
    assert recorder.ids() == [kept.id]


def test_a_burst_longer_than_a_batch(
    tailer: Tailer, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 7)
    with transaction.atomic():
        made = [event().id for _ in range(30)]
    until(lambda: recorder.ids() == made)


def test_starting_tells_everybody_to_read_again(tailer: Tailer, recorder: Recorder) -> None:
    assert recorder.got[0].kind == RESYNC


def test_start_and_stop_may_be_called_twice(tailer: Tailer, recorder: Recorder) -> None:
    tailer.start()
    tailer.stop()
    tailer.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "tailer"]
    tailer.start()
    assert tailer.reading.wait(5)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has backends to terminate")
def test_a_lost_connection_loses_no_event(tailer: Tailer, recorder: Recorder) -> None:
    with connection.cursor() as sql:
        sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert sql.fetchall() == [(True,)]
    made = event().id
    until(lambda: made in recorder.ids(), 8)
