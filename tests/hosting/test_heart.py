"""B15: a worker that lives keeps its lease, whatever goes wrong while it says so."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from reviewhub_agents.runners import poll
from reviewhub_agents.runtime.pulse import next_beat

from reviewhub.hosting import heart
from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch

HELD = Claimed(resumption=Resumption(), branch=Branch(), at=datetime(2026, 1, 1, tzinfo=UTC))
BROKEN = [OperationalError("away"), InterfaceError("closed"), OSError("no socket"), ValueError("a bug")]


@pytest.mark.parametrize("where", ["renew", "seen"])
@pytest.mark.parametrize("error", BROKEN, ids=lambda one: type(one).__name__)
def test_b15_a_heart_beats_on_after_an_error(
    error: Exception, where: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 0.03
    beats: list[str] = []
    on = threading.Event()

    def beat(name: str) -> None:
        beats.append(name)
        if name == where and beats.count(name) == 1:
            raise error
        if beats.count(where) > 2:
            on.set()

    monkeypatch.setattr(heart, "renew", lambda **given: beat("renew"))
    with heart.beating(HELD, lambda: beat("seen")):
        assert on.wait(10), beats


@pytest.mark.parametrize("lease", [0.3, 12, 60, 3600])
@pytest.mark.parametrize("draw", [0.0, 0.5, 0.999])
def test_b15_a_heartbeat_that_failed_has_several_more_tries_within_its_lease(
    lease: float, draw: float
) -> None:
    at, tries, failed = next_beat(lease=lease, failed=0, draw=draw), 0, 1
    assert at == lease / 3
    while (at := at + next_beat(lease=lease, failed=failed, draw=draw)) < lease:
        tries, failed = tries + 1, failed + 1
    assert tries >= 5
    assert tries <= 12, "a database that is down is not asked all the time"


def test_b15_what_failed_at_once_is_not_tried_again_at_once() -> None:
    assert next_beat(lease=60, failed=1, draw=0.0) < next_beat(lease=60, failed=1, draw=0.9)
    assert next_beat(lease=60, failed=10**6, draw=0.9) <= 10


class Waits:
    """The event that ends a heart; it notes how long was to be waited, and ends it after some."""

    def __init__(self, most: int) -> None:
        self.said: list[float] = []
        self._most = most

    def wait(self, seconds: float) -> bool:
        self.said.append(seconds)
        return len(self.said) > self._most


@pytest.mark.parametrize("where", ["hosted", "polling"])
def test_b15_a_heart_tries_again_soon_and_then_beats_as_before(
    where: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 60
    waits, broken = Waits(4), [None, OperationalError("away"), OperationalError("away"), None]

    def beat(**given: Any) -> None:
        if error := broken.pop(0):
            raise error

    monkeypatch.setattr(heart, "renew", beat)
    if where == "hosted":
        heart._beat(HELD, lambda: None, waits)  # type: ignore[arg-type]
    else:
        poll._beat(beat, waits)  # type: ignore[arg-type]
    first, second, soon, later, last = waits.said
    assert (first, second, last) == (20, 20, 20)
    assert 1 <= soon <= 2 <= later <= 4


def test_b15_figures_that_cannot_be_written_hurry_no_heartbeat(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 60
    waits = Waits(3)

    def seen() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(heart, "renew", lambda **given: None)
    heart._beat(HELD, seen, waits)  # type: ignore[arg-type]
    assert waits.said == [20, 20, 20, 20]
