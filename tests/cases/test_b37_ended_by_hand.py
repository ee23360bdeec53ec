"""B37: when a run ends by hand, what waited for it ends too, and a late yes is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.audit.models import Event, EventPayload
from reviewhub.core.actors import Actor
from reviewhub.gates.cancel import cancel
from reviewhub.gates.stop import stop
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Grant
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy


def by_agent(cast: Cast, agent: AgentHttp) -> str:
    agent.post(f"/runs/{Run.objects.get().pk}/cancel", {"reason": "no longer needed"}).ok()
    return "Support agent"


def by_admin(cast: Cast, agent: AgentHttp) -> str:
    alice = Actor(kind="person", id=cast.alice.pk, name="Alice", source="page")
    assert cancel(run_id=Run.objects.get().pk, reason="customer called", actor=alice)
    return "Alice"


def by_stopping_the_agent(cast: Cast, agent: AgentHttp) -> str:
    alice = Actor(kind="person", id=cast.alice.pk, name="Alice", source="page")
    assert stop(agent_id=Agent.objects.get().pk, reason="it misbehaves", actor=alice) == 1
    return "Alice"


def by_failing(cast: Cast, agent: AgentHttp) -> str:
    agent.post(f"/branches/{Branch.objects.get().pk}/fail", {"error": "out of memory"}).ok()
    return "Support agent"


WAYS = [by_agent, by_admin, by_stopping_the_agent, by_failing]


@pytest.mark.parametrize("end", WAYS, ids=lambda end: end.__name__)
def test_b37_what_waited_is_cancelled(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec, end: Callable[[Cast, AgentHttp], str]
) -> None:
    policy(cast.support, {"name": "Two", "tool": "wire", "action": "require", "approvals": 2})
    paused = agent.pause(agent.run()["id"], call(), call("wire", "c2"), call("mail", "c3")).ok(201)
    refund, wire, mail = paused["tool_calls"]
    reviewer.decide(wire, "approve").ok()
    reviewer.decide(mail, "approve").ok()
    assert len(reviewer.get("/requests").ok()["items"]) == 2
    who = end(cast, agent)

    assert reviewer.get("/requests").ok()["items"] == []
    states = dict(ReviewRequest.objects.values_list("tool_name", "state"))
    assert states == {"refund": "cancelled", "wire": "cancelled", "mail": "approved"}
    assert Review.objects.count() == 2, "votes stay on record"
    assert not Grant.objects.filter(state="open").exists()
    for one in (refund, wire, mail):
        late = reviewer.decide(one, "approve")
        assert (late.status, late.code) == (409, "already_decided"), late.json
        assert not tool.attempt(one)
    bulk = [{"request": refund["request"]["id"], "type": "approve", "version": 1, "digest": refund["digest"]}]
    assert reviewer.post("/requests/decide", {"decisions": bulk}).status == 422
    settled = agent.get(f"/pauses/{paused['id']}").ok()
    assert settled["state"] == "settled"
    told = settled["tool_calls"][0]
    assert (told["state"], told["decision"]["type"]) == ("skipped", "cancel")
    assert "cancelled" in told["model_text"]
    assert who in told["decision"]["by"]["name"]
    assert {who} <= set(
        EventPayload.objects.filter(event__in=_ending_events()).values_list("actor_name", flat=True)
    )


def _ending_events() -> Any:
    return Event.objects.exclude(kind__in=["run.started", "pause.opened", "request.opened"])


def test_b37_an_old_page_cannot_approve(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    from tests.web.test_review import form_of

    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    form = form_of(reviewer.client.get(f"{address}?mode=approve").content.decode())
    by_admin(cast, agent)
    answer = reviewer.client.post(f"{address}/decide", {**form, "sure": "on"})
    assert answer.status_code == 409
    assert "Alice" in answer.content.decode()
    assert ReviewRequest.objects.get().state == "cancelled"
    assert not tool.attempt(waiting)


def test_b37_cancelling_twice_changes_nothing(cast: Cast, agent: AgentHttp) -> None:
    agent.pause(agent.run()["id"], call()).ok(201)
    by_agent(cast, agent)
    before = list(ReviewRequest.objects.values())
    agent.post(f"/runs/{Run.objects.get().pk}/cancel", {}).ok()
    assert list(ReviewRequest.objects.values()) == before


def test_b37_an_ended_run_takes_no_new_pause(cast: Cast, agent: AgentHttp) -> None:
    run = agent.run()["id"]
    agent.pause(run, call()).ok(201)
    by_agent(cast, agent)
    assert agent.pause(run, call()).status == 409
    assert ReviewRequest.objects.count() == 1
