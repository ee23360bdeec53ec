"""Runs that went on without an event are told to whoever looks at them."""

from __future__ import annotations

from uuid import UUID

import pytest

from reviewhub.live.hub import Hub
from reviewhub.live.steps import LOOK_SECONDS, Steps
from reviewhub.runs.models import Branch
from tests.cast import make_cast
from tests.driver import agent_of, call

pytestmark = pytest.mark.django_db


def test_a_mark_and_a_checkpoint_are_told_once() -> None:
    agent = agent_of(make_cast().support)
    run, other = (UUID(agent.run()["id"]) for _ in range(2))
    now = [0.0]
    steps = Steps(clock=lambda: now[0])

    def told(*watched: UUID) -> list[UUID | None]:
        now[0] += LOOK_SECONDS
        return [hint.run_id for hint in steps.look(watched)]

    def mark(status: str) -> None:
        marks = {"marks": [{"step": "pay", "status": status}]}
        agent.post(f"/runs/{run}/plans/1/marks", marks).ok()

    assert told(run, other) == [], "what is looked at first is no news"
    agent.post(f"/runs/{run}/plans", {"steps": [{"id": "pay", "title": "Pay"}]}).ok(201)
    mark("running")
    assert told(run, other) == [run]
    assert told(run, other) == []
    agent.post(f"/runs/{other}/checkpoints", {"state": {"n": 1}}).ok(201)
    assert told(run, other) == [other]
    mark("done")
    assert steps.look([run, other]) == [], "not more often than the database bears"
    assert told(run, other) == [run], "and what was passed over is told the next time"
    assert told() == []


def test_what_becomes_of_a_child_run_is_told_to_who_looks_at_its_parent() -> None:
    agent = agent_of(make_cast().support)
    started = agent.run()
    run, branch = UUID(started["id"]), started["branches"][0]["id"]
    now = [0.0]
    steps = Steps(clock=lambda: now[0])

    def told(*watched: UUID) -> list[UUID | None]:
        now[0] += LOOK_SECONDS
        return [hint.run_id for hint in steps.look(watched)]

    assert told(run) == []
    child = agent.post(f"/branches/{branch}/children", {"key": "k", "graph": "reader"}).ok()
    assert told(run) == [run]
    agent.pause(child["run"], call()).ok(201)
    assert told(run) == [run], "it waits for people"
    assert told(run) == []
    Branch.objects.filter(pk=child["branch"]).update(state="cancelled")
    assert told(run, UUID(child["run"])) == [run]


async def test_only_followed_runs_are_asked_about() -> None:
    hub, run = Hub(), UUID(int=1)
    assert hub.runs() == set()
    with hub.subscribe(f"run:{run}", f"workspace:{UUID(int=2)}"):
        assert hub.runs() == {run}
    assert hub.runs() == set()
