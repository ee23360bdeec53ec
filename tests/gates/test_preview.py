"""What a fork or a rewrite would do is told before, by the API as by the pages, and nothing is written."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch, Run
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

CHANGES = [{"op": "set", "path": "/n", "value": 7}, {"op": "insert", "path": "/messages/-", "value": "more"}]
STATE = {"n": 1, "messages": ["hello"], "api_key": "sk-1234567890abcdef"}


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def bob(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.bob)


def save(agent: AgentHttp, run: str, **body: Any) -> Any:
    return agent.post(f"/runs/{run}/checkpoints", body).ok(201)


def stored() -> tuple[int, int, int]:
    return Branch.objects.count(), Checkpoint.objects.count(), Event.objects.count()


@pytest.mark.django_db
def test_a_rewrite_does_what_its_preview_said(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state=STATE)
    waiting = agent.pause(run, call(), checkpoint={"state": {"n": 2}}).ok(201)["tool_calls"][0]
    address, before = f"/checkpoints/{first['id']}/rewrite", stored()
    told = bob.post(f"{address}/preview", {"changes": CHANGES}).ok(200)
    assert stored() == before
    assert told["state"]["changes"] == [
        {"path": "/messages/1", "kind": "added", "after": "more"},
        {"path": "/n", "kind": "changed", "before": 1, "after": 7},
    ]
    assert [one["id"] for one in told["withdrawn"]] == [waiting["id"]]
    assert told["seen"] == bob.get(address).ok()["seen"]
    body = {"changes": CHANGES, "reason": "wrong number"}
    assert bob.post(f"{address}/preview", body | {"seen": told["seen"]}).ok(200) == told
    made = bob.post(address, body | {"seen": told["seen"]}).ok(201)
    new = agent.get(f"/checkpoints/{made['checkpoint']}").ok()
    assert (new["hash"], new["state"]["n"]) == (told["state"]["hash"], 7)
    assert len(Checkpoint.objects.get(pk=made["checkpoint"]).state_hash) == len(told["state"]["hash"])
    refused = bob.post(f"{address}/preview", body)
    assert refused.code == "superseded" and refused.json["by"] == "Bob"


@pytest.mark.django_db
def test_a_fork_does_what_its_preview_said(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state=STATE)
    waiting = agent.pause(run, call()).ok(201)["tool_calls"][0]
    address, body = f"/checkpoints/{first['id']}/fork", {"branch": "try", "changes": CHANGES}
    for who in (agent, bob):
        before = stored()
        told = who.post(f"{address}/preview", body).ok(200)
        assert stored() == before
        assert [one["id"] for one in told["waiting"]] == [waiting["id"]]
        assert "withdrawn" not in told
    made = agent.post(address, body).ok(201)
    assert agent.get(f"/checkpoints/{made['checkpoint']}").ok()["hash"] == told["state"]["hash"]
    for who in (agent, bob):
        refused = who.post(f"{address}/preview", body)
        assert refused.code == "name_taken" == who.post(address, body | {"reason": "again"}).code
    agent.post(f"/runs/{run}/cancel", {"reason": "over"}).ok()
    assert bob.post(f"{address}/preview", {"changes": []}).ok(200)["state"]["changes"] == []


@pytest.mark.django_db
def test_what_would_be_refused_is_refused(agent: AgentHttp, bob: PersonHttp) -> None:
    agent.put(
        "/states/order/1", {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    ).ok()
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1}, state_schema={"name": "order", "version": 1})
    before = stored()
    for body, path in (
        ({"changes": [{"op": "set", "path": "/x/y", "value": 1}]}, "/changes/0/path"),
        ({"changes": [{"op": "set", "path": "/n", "value": "seven"}]}, "/state/n"),
        ({"plan": "checkpoint"}, "/plan"),
        ({"wrong": 1}, "/wrong"),
    ):
        for way in ("fork", "rewrite"):
            address = f"/checkpoints/{first['id']}/{way}"
            foretold, done = bob.post(f"{address}/preview", body), bob.post(address, body | {"reason": "x"})
            assert (foretold.status, foretold.json["errors"][0]["path"]) == (422, path), way
            assert foretold.json["errors"] == done.json["errors"]
    Agent.objects.filter(pk=Run.objects.get(pk=run).agent_id).update(stopped_at="2026-01-01T00:00:00Z")
    for way in ("fork", "rewrite"):
        assert bob.post(f"/checkpoints/{first['id']}/{way}/preview", {}).code == "agent_stopped"
    assert stored() == before


@pytest.mark.django_db
def test_a_person_sees_no_secret_in_it(agent: AgentHttp, bob: PersonHttp) -> None:
    hides = {"type": "object", "properties": {"pins": {"items": {"writeOnly": True}}}}
    agent.put("/states/pins/1", {"schema": hides}).ok()
    run = agent.run()["id"]
    state = STATE | {"pins": ["4711"], "login": {"password": 1234}}
    first = save(agent, run, state=state, state_schema={"name": "pins", "version": 1})
    changes = [
        {"op": "set", "path": "/api_key", "value": "sk-abcdef1234567890"},
        {"op": "set", "path": "/pins/0", "value": "0815"},
        {"op": "set", "path": "/login/password", "value": 5678},
        {"op": "set", "path": "/n", "value": {"token": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}},
    ]
    values = ("sk-", "4711", "0815", "1234", "5678", "ghp_")
    for way in ("fork", "rewrite"):
        told = bob.post(f"/checkpoints/{first['id']}/{way}/preview", {"changes": changes}).ok(200)["state"]
        shown = [one[side] for one in told["changes"] for side in ("before", "after") if side in one]
        assert len(told["changes"]) == 4
        assert not [value for value in values if value in str(shown)]
    own = agent.post(f"/checkpoints/{first['id']}/fork/preview", {"changes": changes}).ok(200)["state"]
    assert [value for value in values if value not in str(own["changes"])] == []


@pytest.mark.django_db
def test_the_plan_that_would_be_taken_along(agent: AgentHttp, bob: PersonHttp) -> None:
    run = agent.run()["id"]
    steps = [{"id": "look", "title": "Look"}]
    agent.post(f"/runs/{run}/plans", {"steps": steps}).ok(201)
    first = save(agent, run, state={"n": 1}, plan={"version": 1, "step": 1})
    why = {"why": {"kind": "agent", "text": "more"}, "base": 1}
    agent.post(f"/runs/{run}/plans", {"steps": [*steps, {"id": "pay", "title": "Pay"}]} | why).ok(201)
    address = f"/checkpoints/{first['id']}/rewrite/preview"
    assert bob.post(address, {}).ok(200)["plan"] == 2
    assert bob.post(address, {"plan": "checkpoint"}).ok(200)["plan"] == 1
