"""How many statements stand between a decision and the step that goes on: each is a way to the database and back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewhub.hosting.goodput.meter import MeteredStore
from tests.hosting.conftest import Hosted

UNTIL_THE_STEP = 12
AFTER_THE_DECISION = 20


@pytest.fixture
def paused(hosted: Hosted) -> Hosted:
    """A worker has gone through all of it once, and a second run waits for people."""
    for _ in range(2):
        hosted.start()
        hosted.work()
    hosted.decide_first("approve")
    hosted.work()
    return hosted


def words(queries: Any) -> list[str]:
    """The statements without those of the tests' own transactions."""
    return [one["sql"] for one in queries if "SAVEPOINT" not in one["sql"]]


def test_from_the_waking_to_the_step(paused: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    paused.decide("approve")
    entering, seen = MeteredStore.enter, []

    def enter(store: MeteredStore, *, node: str, step: int) -> str | None:
        said = entering(store, node=node, step=step)
        seen.append(words(queries.captured_queries))
        return said

    monkeypatch.setattr(MeteredStore, "enter", enter)
    with CaptureQueriesContext(connection) as queries:
        assert paused.work() == 1
    # The first one is of the test: which wakings there are.
    found = seen[0][1:]
    assert len(found) <= UNTIL_THE_STEP, "\n".join(one[:300] for one in found)


def test_from_the_decision_to_its_commit(paused: Hosted) -> None:
    with CaptureQueriesContext(connection) as queries:
        paused.decide("approve")
    found = words(queries.captured_queries)
    at = next(place for place, one in enumerate(found) if "decided_at" in one and one.startswith("UPDATE"))
    assert len(found[at:]) <= AFTER_THE_DECISION, "\n".join(one[:300] for one in found[at:])
