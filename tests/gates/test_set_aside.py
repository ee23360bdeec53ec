"""A damaged checkpoint: nobody is served it, it is on record once, and its branch does not go on by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.checkpoints import recall
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.checkpoints.test_damage import damage
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared


@pytest.fixture(autouse=True)
def _nothing_in_mind() -> Iterator[None]:
    recall.forget_all()
    yield
    recall.forget_all()


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def damaged(agent: AgentHttp) -> tuple[Any, Any]:
    """A run with one checkpoint, which is damaged."""
    run = agent.run()
    saved = agent.post(f"/runs/{run['id']}/checkpoints", {"state": {"n": 1}}).ok(201)
    damage(Checkpoint.objects.filter(pk=saved["id"]), content=b"\x00[]")
    return run, saved


def states(run: Any) -> tuple[str, str]:
    branch = Branch.objects.get(run=run["id"])
    return str(branch.state), str(Run.objects.get(pk=run["id"]).state)


def test_a_read_serves_nothing_and_sets_the_branch_aside(agent: AgentHttp) -> None:
    run, saved = damaged(agent)
    epoch = Branch.objects.get(run=run["id"]).epoch
    for _ in range(2):
        reply = agent.get(f"/checkpoints/{saved['id']}")
        assert (reply.status, reply.code) == (500, "corrupt_checkpoint")
        assert reply.json["checkpoint"] == saved["id"]
        assert "state" not in reply.json
    assert states(run) == ("quarantined", "quarantined")
    assert Branch.objects.get(run=run["id"]).epoch == epoch + 1
    assert "Checkpoint 1 of main" in Run.objects.get(pk=run["id"]).error
    event = Event.objects.get(kind="checkpoint.corrupt")
    assert str(event.subject_id) == saved["id"]
    assert "Checkpoint 1 of main does not match its hash" in event.payload.sentence
    put_away = Event.objects.get(kind="run.quarantined")
    assert put_away.subject_id == Branch.objects.get(run=run["id"]).pk
    assert put_away.payload.sentence == (
        "The run was set aside: Checkpoint 1 of main does not match its hash. Fork one that does."
    )
    assert (
        agent.post(f"/branches/{Branch.objects.get(run=run['id']).pk}/finish", {"result": None}).status == 409
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/runs/{run}/checkpoints", {"state": {"n": 2}}),
        ("/runs/{run}/pauses", {"checkpoint": {"state": {"n": 2}}, "tool_calls": [call()]}),
        ("/branches/{branch}/finish", {"checkpoint": {"state": {}}, "result": None}),
        ("/checkpoints/{checkpoint}/fork", {}),
    ],
)
def test_a_write_on_top_of_it_is_refused_and_sets_the_branch_aside(
    agent: AgentHttp, path: str, body: Any
) -> None:
    run, saved = damaged(agent)
    branch = Branch.objects.get(run=run["id"])
    reply = agent.post(path.format(run=run["id"], branch=branch.pk, checkpoint=saved["id"]), body)
    assert (reply.status, reply.code) == (500, "corrupt_checkpoint")
    assert states(run) == ("quarantined", "quarantined")
    assert Event.objects.filter(kind="checkpoint.corrupt").count() == 1
    assert Checkpoint.objects.count() == 1


def test_who_waits_for_people_goes_on_waiting(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()
    paused = agent.pause(run["id"], call()).ok(201)
    damage(Checkpoint.objects.filter(pk=paused["checkpoint"]["id"]), content=b"")
    assert agent.get(f"/checkpoints/{paused['checkpoint']['id']}").status == 500
    assert states(run) == ("paused", "paused")
    assert not Event.objects.filter(kind="run.quarantined").exists()
    (one,) = paused["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    assert agent.post(f"/runs/{run['id']}/checkpoints", {"state": {}}).status == 500
    assert states(run) == ("quarantined", "quarantined")
    assert Event.objects.filter(kind="run.quarantined").count() == 1
    assert agent.get("/resumptions").ok()["items"] == []


def test_what_happened_is_taken_all_the_same(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()
    paused = agent.pause(run["id"], call()).ok(201)
    (one,) = paused["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    damage(Checkpoint.objects.filter(pk=paused["checkpoint"]["id"]), content=b"")
    body = {"status": "succeeded", "result": {"ok": True}, "checkpoint": {"state": {"done": True}}}
    assert agent.post(f"/tool-calls/{one['id']}/outcome", body).code == "corrupt_checkpoint"
    assert ToolCall.objects.get(pk=one["id"]).state == "succeeded"
    assert states(run)[0] == "quarantined"


def test_pages_show_the_rest(cast: Cast, agent: AgentHttp) -> None:
    run, saved = damaged(agent)
    page = PersonHttp(cast.bob).client.get(f"/northwind/runs/{run['id']}?checkpoint={saved['id']}")
    assert page.status_code == 200
    assert states(run)[0] == "quarantined"
