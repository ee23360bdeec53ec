"""A drill finds what could not go on, and leaves everything as it is."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.deliveries.models import Email
from reviewhub.hosting.models import Record
from reviewhub.retention.drill import drill
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Grant, ToolCall
from tests.cast import Cast
from tests.checkpoints.test_damage import damage
from tests.driver import PersonHttp, agent_of, call
from tests.hosting.conftest import Hosted, hosted, payer

__all__ = ["hosted", "payer"]


def outcome() -> tuple[str, str]:
    (one,) = drill(sample=10)
    return one.reached, one.problem


def everything() -> list[Any]:
    """What a drill must not touch."""
    models = (Run, Branch, Checkpoint, ToolCall, Grant, Record, ReviewRequest)
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_a_hosted_run_gets_to_its_next_gate_and_nothing_happens(hosted: Hosted) -> None:
    hosted.start(amount="25.00")
    assert outcome() == ("would save a checkpoint and go to look", "")
    hosted.work()
    before, done = everything(), list(hosted.world.done)
    assert outcome() == ("waits for people", "")
    hosted.decide("approve")
    before = everything()
    assert outcome() == ("would run pay", "")
    assert everything() == before
    assert hosted.world.done == done
    assert not Event.objects.filter(kind="run.drill_failed").exists()


def test_code_that_cannot_read_the_state_any_more_is_an_alarm(hosted: Hosted, settings: Any) -> None:
    hosted.start(amount="25.00")
    hosted.work()
    before = everything()
    settings.HOSTED_GRAPHS = {"payer": "tests.hosting.graphs:basket"}
    _, problem = outcome()
    assert problem.startswith("StateError")
    assert everything() == before
    assert Event.objects.filter(kind="run.drill_failed").count() == 1
    assert set(Email.objects.filter(subject__contains="drill").values_list("to", flat=True)) == {
        "alice@example.com"
    }
    with pytest.raises(CommandError, match="1 of 1 could not be resumed"):
        call_command("checkpoints", "drill", stdout=StringIO())


def test_an_agent_that_polls(cast: Cast) -> None:
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    (one,) = agent.pause(run, call()).ok(201)["tool_calls"]
    assert outcome() == ("its agent can go on", "")
    ReviewRequest.objects.update(state="cancelled", decided_at="2026-01-01T00:00:00Z")
    assert outcome()[1] == "Unfit: its pause counts 1 open calls, and people are asked about 0"
    ReviewRequest.objects.update(state="pending", decided_at=None)
    PersonHttp(cast.bob).decide(one, "approve").ok()
    assert outcome()[1] == ""
    Grant.objects.update(state="expired")
    assert outcome()[1] == "Unfit: refund is allowed and has no grant to use"


def test_damage_is_found(cast: Cast) -> None:
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    agent.post(f"/runs/{run}/checkpoints", {"state": {"n": 1}}).ok(201)
    out = StringIO()
    call_command("checkpoints", "drill", "--workspace", "northwind", stdout=out)
    assert out.getvalue().endswith("1 tried, 0 failed\n")
    damage(Checkpoint.objects.all(), content=b"\x00[]")
    assert outcome()[1].startswith("CorruptCheckpoint")
    Branch.objects.update(state="cancelled")
    assert drill(sample=10) == []
