"""B53: what a decision sets in motion is seen when, and only if, the decision is committed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection
from kombu.exceptions import OperationalError

from reviewhub.audit.signals import event_recorded
from reviewhub.celery import app
from reviewhub.core import faults
from reviewhub.deliveries.models import Email
from reviewhub.hosting.sweep import sweep
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.toolcalls.models import Decision, Pause
from tests.cast import Cast, make_cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call

pytestmark = pytest.mark.django_db(transaction=True)


class Watcher:
    """Everything that leaves the process: hints to workers and events for screens, with what others saw then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hints: list[tuple[str, str]] = []
        self.events: list[tuple[str, str]] = []
        self.broker_is_up = True
        monkeypatch.setattr(app, "send_task", self.send_task)
        event_recorded.connect(self.note_event)

    def send_task(self, name: str, *arguments: Any, **more: Any) -> None:
        if not self.broker_is_up:
            raise OperationalError("the broker is down")
        self.hints.append((name, seen_by_others()))

    def note_event(self, sender: object, event: Any, **more: Any) -> None:
        self.events.append((event.kind, seen_by_others()))

    def clear(self) -> None:
        self.hints.clear()
        self.events.clear()


def seen_by_others() -> str:
    """The state of the one request as another connection sees it."""
    found: list[str] = []

    def look() -> None:
        found.extend(ReviewRequest.objects.values_list("state", flat=True))
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return ",".join(found)


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Watcher(monkeypatch)
    yield made
    event_recorded.disconnect(made.note_event)


@pytest.fixture
def scene(watcher: Watcher) -> tuple[Cast, AgentHttp, PersonHttp, Any]:
    """A call of a hosted run that waits."""
    cast = make_cast()
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    bob.client.raise_request_exception = False
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    Pause.objects.update(resume_kind="hosted")
    watcher.clear()
    return cast, agent, bob, waiting


def test_b53_hints_and_events_come_after_the_commit(watcher: Watcher, scene: Any) -> None:
    _, _, bob, waiting = scene
    bob.decide(waiting, "approve").ok()
    assert [name for name, _ in watcher.hints] == ["reviewhub.hosting.tasks.resume"]
    assert watcher.events
    assert {seen for _, seen in watcher.hints + watcher.events} == {"approved"}


def test_b53_nothing_is_seen_while_the_commit_takes_its_time(watcher: Watcher, scene: Any) -> None:
    _, _, bob, waiting = scene
    seen: list[Any] = []

    def before_commit() -> None:
        seen.append((seen_by_others(), list(watcher.hints), list(watcher.events)))

    with faults.armed("decide.before_commit", before_commit):
        bob.decide(waiting, "approve").ok()
    assert seen == [("pending", [], [])]
    assert Resumption.objects.get().state == "queued"


def test_b53_a_rollback_leaves_nothing_behind(watcher: Watcher, scene: Any) -> None:
    _, agent, bob, waiting = scene
    mails = Email.objects.count()
    with faults.armed("decide.before_commit"):
        assert bob.decide(waiting, "approve", key="click").status >= 500
    assert ReviewRequest.objects.get().state == "pending"
    assert not (Review.objects.exists() or Decision.objects.exists() or Resumption.objects.exists())
    assert Email.objects.count() == mails
    assert (watcher.hints, watcher.events) == ([], [])
    assert agent.consume(waiting).status == 409
    # The key was not used up by what never happened.
    assert bob.decide(waiting, "approve", key="click").ok()["state"] == "approved"
    assert Resumption.objects.count() == 1


def test_b53_a_death_after_the_commit_loses_only_hints(watcher: Watcher, scene: Any) -> None:
    _, agent, bob, waiting = scene
    with faults.armed("decide.after_commit"):
        assert bob.decide(waiting, "approve", key="click").status >= 500
    assert ReviewRequest.objects.get().state == "approved"
    assert Resumption.objects.get().state == "queued"
    assert bob.decide(waiting, "approve", key="click").ok()["state"] == "approved"
    assert Decision.objects.count() == 1


def test_b53_a_broker_that_is_down_loses_nothing(watcher: Watcher, scene: Any) -> None:
    _, _, bob, waiting = scene
    watcher.broker_is_up = False
    assert bob.decide(waiting, "approve").ok()["state"] == "approved"
    assert Resumption.objects.get().state == "queued"
    assert watcher.hints == []
    watcher.broker_is_up = True
    assert sweep() == 1
    assert [name for name, _ in watcher.hints] == ["reviewhub.hosting.tasks.resume"]


def test_b53_a_screen_that_fails_stops_nothing(watcher: Watcher, scene: Any) -> None:
    def fail(**anything: Any) -> None:
        raise RuntimeError("a socket is gone")

    _, _, bob, waiting = scene
    event_recorded.connect(fail)
    try:
        assert bob.decide(waiting, "approve").ok()["state"] == "approved"
    finally:
        event_recorded.disconnect(fail)
    assert [seen for _, seen in watcher.hints] == ["approved"]
