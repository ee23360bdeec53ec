"""B15 with worker processes: a call that is longer than a lease is started once, whatever its worker goes through."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from reviewhub_agents.demos import support_shop

from reviewhub.policies.rules import Rule
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.chaos import actors
from tests.chaos.crew import Crew, make_crew, open_runs
from tests.chaos.slow import lines
from tests.hosting.conftest import Hosted
from tests.hosting.graphs import world

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 90.0
ALL = Rule(name="All pass", tool="slow.*", action="allow")


@pytest.fixture
def crew(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Crew]:
    """Two workers, and a tool of 7 s under a lease of 3 s."""
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    settings.HOSTED_GRAPHS = {**settings.HOSTED_GRAPHS, **actors.GRAPHS}
    made = make_crew("slow", tmp_path, rules=[ALL])
    for _ in range(2):
        made.add("work")
    yield made
    made.kill_all()


def until(done: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := done()):
        assert time.monotonic() < end, list(
            ToolCall.objects.values_list("tool_name", "state", "branch__state")
        )
        time.sleep(0.05)
    return found


def started(many: int = 1) -> int:
    """The process that works at the newest call, once so many began."""
    return int(until(lambda: len(lines("starts")) >= many and lines("starts")[-1]))


def ended() -> None:
    until(lambda: not open_runs())


def asked() -> ReviewRequest:
    return until(lambda: ReviewRequest.objects.filter(state="pending").first())


def say(crew: Crew, type_: str, **more: Any) -> None:
    Hosted(agent=crew.agent, person=crew.cast.bob, world=world).decide(type_, row=asked(), **more)


LIVES: list[dict[str, Any]] = [
    {},
    {"how": "progress"},
    {"tool": "slow.waits"},
    {"tool": "slow.again"},
    {"calls": 3, "seconds": 4.0},
    {"child": True},
    {"child": True, "calls": 2, "seconds": 4.0},
    {"how": "late", "seconds": 10.0},
]


@pytest.mark.parametrize("given", LIVES, ids=str)
def test_b15_nobody_takes_a_long_call_from_a_worker_that_lives(crew: Crew, given: dict[str, Any]) -> None:
    crew.start("long", **given)
    ended()
    many = given.get("calls", 1)
    assert len(lines("starts")) == many
    assert len(set(lines("effects"))) == len(lines("effects")) == many
    # Where the machine stands still for a lease people may be asked; nobody starts it again, its word ends that.
    assert Attempt.objects.count() == many
    assert not ReviewRequest.objects.filter(state="pending").exists()
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"succeeded"}


def test_b15_a_worker_that_stood_still_is_asked_about_and_its_own_word_ends_that(crew: Crew) -> None:
    """Stopped like a machine that is moved: its lease runs out, and then it goes on as if nothing had been."""
    crew.start("stopped")
    holder = started()
    os.kill(holder, signal.SIGSTOP)
    try:
        assert asked().kind == "unknown"
    finally:
        os.kill(holder, signal.SIGCONT)
    ended()
    assert (len(lines("starts")), len(lines("effects"))) == (1, 1)
    assert ToolCall.objects.get().state == "succeeded"


def test_b15_a_tool_that_lets_no_heart_beat_runs_once(crew: Crew) -> None:
    """One that keeps all threads of its process waiting: taken for lost or not, it is not started again."""
    crew.start("busy", how="busy", seconds=6.0)
    ended()
    assert (len(lines("starts")), len(lines("effects"))) == (1, 1)
    assert ToolCall.objects.get().state == "succeeded"


def test_b15_a_tool_over_its_time_limit_is_asked_about_while_it_runs_and_runs_once(crew: Crew) -> None:
    crew.start("limited", tool="slow.limited")
    assert asked().kind == "unknown"
    assert len(lines("effects")) == 0
    ended()
    assert (len(lines("starts")), len(lines("effects"))) == (1, 1)
    assert ToolCall.objects.get().state == "succeeded"


@pytest.mark.parametrize(
    ("how", "answer", "effects"),
    [
        ("sleep", "did_not_happen", 1),
        ("sleep", "skip", 0),
        ("late", "happened", 1),
    ],
)
def test_b15_a_worker_killed_in_a_long_call_is_not_followed_by_another_before_a_person_said(
    crew: Crew, how: str, answer: str, effects: int
) -> None:
    crew.start("killed", how=how)
    os.kill(started(), signal.SIGKILL)
    until(lambda: any(actor.dead for actor in crew.actors))
    crew.revive()
    assert asked().kind == "unknown"
    time.sleep(2 * actors.LEASE_SECONDS)
    assert (len(lines("starts")), ToolCall.objects.get().state) == (1, "unknown")
    say(crew, answer, **({"value": "looked up"} if answer == "happened" else {}))
    ended()
    assert (len(lines("starts")), len(lines("effects"))) == (2 if answer == "did_not_happen" else 1, effects)
    assert Branch.objects.get().state == "succeeded"


def test_b15_a_worker_killed_in_a_call_that_may_be_repeated_is_followed_by_another(crew: Crew) -> None:
    crew.start("again", tool="slow.again", how="late")
    os.kill(started(), signal.SIGKILL)
    ended()
    assert len(lines("starts")) == 2
    assert len(set(lines("effects"))) == 1, "the same key for both"
    assert ReviewRequest.objects.count() == 0


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has no connections to cut")
def test_b15_a_worker_whose_connections_are_cut_keeps_its_lease(crew: Crew) -> None:
    """Again and again, in the middle of the call: the heart connects anew, sooner than a third of the lease later."""
    crew.start("cut")
    started()
    for _ in range(8):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        time.sleep(0.5)
    ended()
    assert (len(lines("starts")), len(lines("effects"))) == (1, 1)
    assert ToolCall.objects.get().state == "succeeded"
