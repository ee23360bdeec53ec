"""Typed states over HTTP: registering what a state is, saving what fits, and what becomes of what does not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint, StateSchema
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.shared import shared

ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "amount": {"type": "integer", "minimum": 0}},
    "required": ["order"],
}
V1 = {"name": "order", "version": 1}
GOOD, BAD = {"order": "8812", "amount": 10}, {"order": 8812, "amount": -1}


@shared
def agent(cast: Cast) -> AgentHttp:
    one = agent_of(cast.support)
    one.put("/states/order/1", {"schema": ORDER}).ok()
    return one


def save(agent: AgentHttp, run: Any, state: Any, **named: Any) -> Any:
    return agent.post(f"/runs/{run['id']}/checkpoints", {"state": state, "state_schema": V1 | named})


def set_mode(mode: str) -> None:
    Agent.objects.update(state_validation=mode)


def test_a_schema_is_registered_once(agent: AgentHttp) -> None:
    again = agent.put("/states/order/1", {"schema": ORDER}).ok()
    assert (again["name"], again["version"], again["schema"]) == ("order", 1, ORDER)
    assert agent.get("/states/order/1").ok() == again
    assert StateSchema.objects.count() == 1
    (event,) = Event.objects.filter(kind="state.registered")
    assert event.agent_id == Agent.objects.get().pk


def test_another_schema_under_the_same_version_is_refused(agent: AgentHttp) -> None:
    reply = agent.put("/states/order/1", {"schema": {"type": "object"}})
    assert (reply.status, reply.code) == (409, "schema_conflict")
    assert {"registered", "given"} <= reply.json.keys()
    assert agent.get("/states/order/1").ok()["schema"] == ORDER
    agent.put("/states/order/2", {"schema": {"type": "object"}}).ok()


@pytest.mark.parametrize(
    ("path", "body", "at"),
    [
        ("/states/order/0", {"schema": {}}, "/version"),
        ("/states/order/99999999999", {"schema": {}}, "/version"),
        ("/states/a%00b/1", {"schema": {}}, "/name"),
        (f"/states/{'n' * 201}/1", {"schema": {}}, "/name"),
        ("/states/order/2", {}, "/schema"),
        ("/states/order/2", {"schema": {"$ref": "https://example.com/s"}}, "/schema/$ref"),
        ("/states/order/2", {"schema": {"properties": {"a": {"type": "date"}}}}, "/schema/properties/a/type"),
        ("/states/order/2", {"schema": {}, "mode": "off"}, "/mode"),
    ],
)
def test_what_cannot_be_registered(agent: AgentHttp, path: str, body: Any, at: str) -> None:
    reply = agent.put(path, body)
    assert reply.status == 422
    assert [error["path"] for error in reply.json["errors"]] == [at]
    assert StateSchema.objects.count() == 1


def test_a_checkpoint_names_its_schema(agent: AgentHttp) -> None:
    run = agent.run()
    saved = save(agent, run, GOOD).ok(201)
    assert saved["state_schema"] == V1
    assert "misfits" not in saved
    assert agent.get(f"/checkpoints/{saved['id']}").ok()["state_schema"] == V1
    (listed,) = agent.get(f"/runs/{run['id']}/checkpoints").ok()["items"]
    assert listed["state_schema"] == V1


def test_a_schema_has_to_be_registered_by_the_same_agent(agent: AgentHttp, cast: Cast) -> None:
    reply = save(agent, agent.run(), GOOD, version=2)
    assert (reply.status, reply.json["errors"][0]["code"]) == (422, "not_found")
    neighbour = agent_of(cast.support, name="Neighbour")
    assert save(neighbour, neighbour.run(), GOOD).status == 422
    assert neighbour.get("/states/order/1").status == 404
    assert not Checkpoint.objects.exists()


def test_warn_saves_and_says_what_does_not_fit(agent: AgentHttp) -> None:
    run = agent.run()
    saved = save(agent, run, BAD).ok(201)
    assert [(one["path"], one["code"]) for one in saved["misfits"]] == [
        ("/amount", "minimum"),
        ("/order", "type"),
    ]
    assert agent.get(f"/checkpoints/{saved['id']}").ok()["misfits"] == saved["misfits"]
    paused = agent.pause(run["id"], call(), checkpoint={"state": BAD, "state_schema": V1}).ok(201)
    assert paused["checkpoint"]["misfits"] == saved["misfits"]


@pytest.mark.parametrize(
    ("admin", "asked", "status"),
    [
        ("off", None, 201),
        ("off", "warn", 201),
        ("off", "strict", 422),
        ("warn", None, 201),
        ("warn", "strict", 422),
        ("strict", None, 422),
        ("strict", "warn", 422),
    ],
)
def test_the_stricter_one_holds(agent: AgentHttp, admin: str, asked: str | None, status: int) -> None:
    set_mode(admin)
    reply = save(agent, agent.run(), BAD, **({"validation": asked} if asked else {}))
    assert reply.status == status
    if status == 422:
        assert reply.code == "state_misfit"
        assert [error["path"] for error in reply.json["errors"]] == [
            "/state/amount",
            "/state/order",
        ]
        assert not Checkpoint.objects.exists()
    else:
        assert ("misfits" in reply.json) == ((admin, asked) != ("off", None))


def test_an_agent_cannot_ask_for_less(agent: AgentHttp) -> None:
    assert save(agent, agent.run(), GOOD, validation="off").status == 422


def test_under_an_admins_strict_a_state_needs_a_schema(agent: AgentHttp) -> None:
    set_mode("strict")
    run = agent.run()
    reply = agent.post(f"/runs/{run['id']}/checkpoints", {"state": GOOD})
    assert [(e["path"], e["code"]) for e in reply.json["errors"]] == [("/state_schema", "missing")]
    assert agent.pause(run["id"], call()).status == 422
    assert not Checkpoint.objects.exists()
    save(agent, run, GOOD).ok(201)


def test_hints_are_looked_at_like_whole_states(agent: AgentHttp) -> None:
    run = agent.run()
    first = save(agent, run, GOOD).ok(201)
    body = {
        "parent": first["id"],
        "parent_hash": first["hash"],
        "unchanged": ["order"],
        "changed": {"amount": "ten"},
        "state_schema": V1 | {"validation": "strict"},
    }
    reply = agent.post(f"/runs/{run['id']}/checkpoints", body)
    assert [error["path"] for error in reply.json["errors"]] == ["/state/amount"]


def test_an_outcome_is_taken_without_a_state_that_does_not_fit(agent: AgentHttp, cast: Cast) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {"type": "object"}}).ok()
    policy(cast.support, {"name": "All", "tool": "*", "action": "allow"})
    run = agent.run()
    (allowed,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    agent.consume(allowed).ok()
    strict = {"state": BAD, "state_schema": V1 | {"validation": "strict"}}
    reply = agent.outcome(allowed, result=1, checkpoint=strict)
    assert (reply.status, reply.code) == (422, "state_misfit")
    assert agent.get(f"/tool-calls/{allowed['id']}").ok()["state"] == "succeeded"
    assert Checkpoint.objects.count() == 1


def rewrite(cast: Cast, checkpoint: Any, *changes: Any) -> Any:
    body = {"changes": list(changes), "reason": "wrong order"}
    return PersonHttp(cast.bob).post(f"/checkpoints/{checkpoint['id']}/rewrite", body)


def change(path: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "path": path, "value": value}


def test_a_persons_rewrite_has_to_fit(agent: AgentHttp, cast: Cast) -> None:
    set_mode("off")
    saved = save(agent, agent.run(), GOOD).ok(201)
    reply = rewrite(cast, saved, change("/amount", "ten"))
    assert (reply.status, reply.code) == (422, "state_misfit")
    assert [error["path"] for error in reply.json["errors"]] == ["/state/amount"]
    assert Checkpoint.objects.count() == 1
    done = rewrite(cast, saved, change("/amount", 11)).ok(201)
    first = Checkpoint.objects.get(pk=done["checkpoint"])
    assert (str(first.state_schema), first.misfits) == ("order version 1", "")


def test_what_did_not_fit_before_may_stay(agent: AgentHttp, cast: Cast) -> None:
    saved = save(agent, agent.run(), BAD).ok(201)
    assert rewrite(cast, saved, change("/amount", -2), {"op": "remove", "path": "/order"}).ok(201)
    newest = Checkpoint.objects.latest("created_at")
    fork = {"changes": [change("/amount", 1), change("/order", "1")]}
    made = agent.post(f"/checkpoints/{newest.pk}/fork", fork).ok(201)
    assert Checkpoint.objects.get(pk=made["checkpoint"]).misfits == ""
    again = agent.post(f"/checkpoints/{newest.pk}/fork", {}).ok(201)
    copy = Checkpoint.objects.get(pk=again["checkpoint"])
    assert (copy.misfits, copy.state_schema_id) == (newest.misfits, newest.state_schema_id)


def test_people_see_what_does_not_fit(agent: AgentHttp, cast: Cast) -> None:
    run = agent.run()
    saved = save(agent, run, BAD | {"<b>": 1}).ok(201)
    bob = PersonHttp(cast.bob).client
    for path in (f"runs/{run['id']}", f"checkpoints/{saved['id']}", f"checkpoints/{saved['id']}/rewrite"):
        raw = bob.get(f"/northwind/{path}").content.decode()
        assert "<b>" not in raw.partition("is not what its schema says")[2].partition("</ul>")[0], path
        page = re.sub(r"<[^>]+>", "", raw)
        assert "amount must be at least 0" in page, path
        assert "order v1" in page, path
    good = save(agent, run, GOOD).ok(201)
    assert (
        "is not what its schema says" not in bob.get(f"/northwind/checkpoints/{good['id']}").content.decode()
    )


def test_a_rewrite_on_the_page_that_does_not_fit_is_said_there(agent: AgentHttp, cast: Cast) -> None:
    saved = save(agent, agent.run(), GOOD).ok(201)
    changes = '[{"op":"set","path":"/amount","value":-5}]'
    page = PersonHttp(cast.bob).client.post(
        f"/northwind/checkpoints/{saved['id']}/rewrite",
        {"changes": changes, "reason": "because", "do": "preview"},
    )
    assert page.status_code == 422
    assert "must be at least 0" in page.content.decode()
    assert Checkpoint.objects.count() == 1
