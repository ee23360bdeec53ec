"""A committed event is announced on PostgreSQL's channel, so other processes need not wait for their next poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from reviewhub.audit.models import Event
from reviewhub.audit.signals import event_recorded
from reviewhub.live import notify, tailer
from reviewhub.live.tailer import CHANNEL, QUIET_SECONDS

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has channels"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def driver() -> Iterator[Any]:
    """Of a connection that listens."""
    listener = connections.create_connection("default")
    try:
        with listener.cursor() as sql:
            sql.execute(f"LISTEN {CHANNEL}")
        yield listener.connection
    finally:
        listener.close()


def announce() -> None:
    assert [error for _, error in event_recorded.send_robust(sender=Event, event=Event()) if error] == []


def test_a_recorded_event_is_announced(driver: Any) -> None:
    time.sleep(QUIET_SECONDS)
    announce()
    assert [heard.channel for heard in driver.notifies(timeout=3, stop_after=1)] == [CHANNEL]


def test_a_burst_is_announced_once_and_what_comes_later_again(
    driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "QUIET_SECONDS", 0.3)
    time.sleep(0.3)
    for _ in range(5):
        announce()
    assert len(list(driver.notifies(timeout=0.5))) == 1
    announce()
    assert len(list(driver.notifies(timeout=0.5))) == 1


def test_who_was_told_looks_once_more_soon(driver: Any) -> None:
    """What was committed while nothing more was said is not left to the poll."""
    with tailer._wait_postgresql() as news:
        time.sleep(QUIET_SECONDS)
        announce()
        news(threading.Event())
        begun = time.monotonic()
        news(threading.Event())
        assert QUIET_SECONDS <= time.monotonic() - begun < tailer.FALLBACK_POLL / 2
        news(threading.Event())
        assert time.monotonic() - begun > tailer.FALLBACK_POLL
