"""The database is away in the middle of a worker's work: its connection is cut, or its disk full.

Nothing is done twice, and what this process knows it tells when the database is back, so that nobody is asked about it.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import Error, OperationalError, connection

from reviewhub.core import faults
from reviewhub.hosting import outlast
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.hosting.conftest import Hosted, run_out

pytestmark = pytest.mark.django_db(transaction=True)
POINTS = (
    "resume.after_claim",
    "pause.before_commit",
    "pause.after_commit",
    "consume.before_commit",
    "consume.after_commit",
    "outcome.before_commit",
    "outcome.after_commit",
    "resume.before_settle",
)
KNOWN_HERE_ONLY = {"consume.before_commit", "consume.after_commit", "outcome.before_commit"}


class Disk:
    """Where nothing can be written any more: of each file of this process what lies behind its first bytes."""

    def __init__(self) -> None:
        self.hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # As Python does by itself.

    def fill(self) -> None:
        """From now on."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, self.hard))

    def free(self) -> None:
        """There is room again."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.hard, self.hard))


def cut() -> None:
    """Ends the server's side of this thread's connection, as a restart does; the next statement finds out."""
    given = connection.get_connection_params()
    target = {name: given[name] for name in ("host", "port", "user", "password") if given.get(name)}
    with psycopg.connect(**target, dbname="postgres", autocommit=True) as other:
        ended = other.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid]
        )
        assert ended.fetchone() == (True,)


@contextmanager
def away(point: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The database goes away at a point, and is back when somebody has waited for it; says what was done."""
    said: list[str] = []
    disk = Disk() if connection.vendor == "sqlite" else None
    go: Callable[[], None] = disk.fill if disk else cut
    come: Callable[[], None] = disk.free if disk else lambda: None

    def act() -> None:
        if not said:
            said.append("away")
            go()

    def wait(seconds: float) -> None:
        said.append("waited")
        come()

    monkeypatch.setattr(outlast.time, "sleep", wait)
    try:
        with faults.armed(point, act):
            yield said
    finally:
        come()


def work(hosted: Hosted) -> None:
    """What a worker does; one that the database left in the lurch ends, and its lease runs out."""
    try:
        hosted.work()
    except Error:
        connection.close()


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_done_twice_and_nobody_is_asked(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    run = hosted.start()
    hosted.work()
    hosted.decide("approve")
    with away(point, monkeypatch) as said:
        work(hosted)
    assert said[0] == "away"
    if point in KNOWN_HERE_ONLY:
        assert "waited" in said
    for _ in range(3):
        run_out()
        work(hosted)
    run.refresh_from_db()
    assert run.state == "succeeded"
    assert hosted.world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"succeeded"}
    assert not Resumption.objects.open().exists()
    assert Attempt.objects.filter(tool_call__effect="once").count() == 1


def test_a_database_that_stays_away_is_not_waited_for_for_ever(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted.start()
    hosted.work()
    hosted.decide("approve")
    tries: list[Any] = []

    def refused(**given: Any) -> Any:
        tries.append(given)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr("reviewhub.hosting.store.outcome_and_begin", refused)
    monkeypatch.setattr(outlast, "PATIENCE", 0.1)
    monkeypatch.setattr(outlast, "FIRST_PAUSE", 0.04)
    hosted.work()
    assert 1 < len(tries) < 4
    monkeypatch.undo()
    run_out()
    hosted.work()
    # Now nobody knows what that process knew.
    assert hosted.request().kind == "unknown"
    assert Branch.objects.get().state == "paused" and Run.objects.get().state == "paused"
    assert hosted.world.done.count(("pay", "10.00")) == 1
