"""B06: a missing or malformed decision is no approval. Exact words only; and false, 0, "" and null are answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.reviews.models import Review, ReviewRequest
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call

# In each, VERSION and DIGEST are replaced by what was shown: only the decision itself is wrong.
MALFORMED = [
    "{}",
    "[]",
    "null",
    "true",
    '"approve"',
    "",
    "approve",
    '{"decision":null}',
    '{"decision":"approve"}',
    '{"approve":"no"}',
    '{"approve":true}',
    '{"type":null,"version":1,"digest":"DIGEST"}',
    '{"type":true,"version":1,"digest":"DIGEST"}',
    '{"type":1,"version":1,"digest":"DIGEST"}',
    '{"type":"","version":1,"digest":"DIGEST"}',
    '{"type":"Approve","version":1,"digest":"DIGEST"}',
    '{"type":"approve ","version":1,"digest":"DIGEST"}',
    '{"type":"APPROVE","version":1,"digest":"DIGEST"}',
    '{"type":"approved","version":1,"digest":"DIGEST"}',
    '{"type":"false","version":1,"digest":"DIGEST"}',
    '{"type":"yes","version":1,"digest":"DIGEST"}',
    '{"type":["approve"],"version":1,"digest":"DIGEST"}',
    '{"type":{"approve":true},"version":1,"digest":"DIGEST"}',
    '{"type":"\\u0430pprove","version":1,"digest":"DIGEST"}',
    '{"type":"approve","type":"reject","version":1,"digest":"DIGEST"}',
    '{"type":"reject","type":"approve","version":1,"digest":"DIGEST"}',
    '{"type":"approve","digest":"DIGEST"}',
    '{"type":"approve","version":1}',
    '{"type":"approve","version":null,"digest":"DIGEST"}',
    '{"type":"approve","version":"1","digest":"DIGEST"}',
    '{"type":"approve","version":1.5,"digest":"DIGEST"}',
    '{"type":"approve","version":true,"digest":"DIGEST"}',
    '{"type":"approve","version":1,"digest":null}',
    '{"type":"approve","version":1,"digest":""}',
    '{"type":"approve","version":1,"digest":"DIGEST","decision":"reject"}',
    '{"type":"approve","version":1,"digest":"DIGEST","value":true}',
    '{"type":"approve","version":1,"digest":"DIGEST","changes":[{"op":"set","path":"/amount","value":"1"}]}',
    '{"type":"approve","version":1,"digest":"DIGEST","message":null}',
    '{"type":"edit","version":1,"digest":"DIGEST"}',
    '{"type":"edit","version":1,"digest":"DIGEST","changes":[]}',
    '{"type":"edit","version":1,"digest":"DIGEST","changes":null}',
    '{"type":"edit","version":1,"digest":"DIGEST","changes":[{"op":"replace","path":"/amount","value":"1"}]}',
    '{"type":"respond","version":1,"digest":"DIGEST"}',
    '{"type":"deny","version":1,"digest":"DIGEST"}',
    '{"type":"expire","version":1,"digest":"DIGEST"}',
    '{"type":"cancel","version":1,"digest":"DIGEST"}',
    '{"type":"happened","version":1,"digest":"DIGEST"}',
    '{"type":"did_not_happen","version":1,"digest":"DIGEST"}',
    '{"type":"skip","version":1,"digest":"DIGEST"}',
]


def test_b06_a_malformed_decision_changes_nothing(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    for body in MALFORMED:
        raw = body.replace("DIGEST", waiting["digest"]).encode()
        refused = reviewer.post(f"/requests/{waiting['request']['id']}/decide", raw=raw)
        assert refused.status in (400, 422), (body, refused.json)
        assert ReviewRequest.objects.get().state == "pending", body
        assert not Review.objects.exists(), body
    assert not tool.attempt(waiting)
    assert agent.get(f"/tool-calls/{waiting['id']}").ok()["state"] == "waiting"


def test_b06_nor_does_it_in_bulk(agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    for body in MALFORMED:
        if not body.startswith("{"):
            continue
        entry = '{"request":"ID",' + body[1:] if len(body) > 2 else '{"request":"ID"}'
        entry = entry.replace("ID", waiting["request"]["id"]).replace("DIGEST", waiting["digest"])
        refused = reviewer.post("/requests/decide", raw=('{"decisions":[' + entry + "]}").encode())
        assert refused.status in (400, 422), (body, refused.json)
        assert ReviewRequest.objects.get().state == "pending", body
    assert not tool.attempt(waiting)


FALSY = ["false", "0", '""', "null", "[]", "{}", "0.0", "-0", '"false"']


@pytest.mark.parametrize("value", FALSY)
def test_b06_falsy_answers_are_answers(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec, value: str
) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call("ask_customer")).ok(201)["tool_calls"]
    body = '{"type":"respond","version":1,"digest":"' + waiting["digest"] + '","value":' + value + "}"
    said = reviewer.post(f"/requests/{waiting['request']['id']}/decide", raw=body.encode()).ok()
    assert said["state"] == "responded"
    answered: Any = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert answered["decision"]["type"] == "respond"
    assert "value" in answered["decision"]
    given, expected = answered["decision"]["value"], json.loads(value)
    assert (given, type(given)) == (expected, type(expected))
    assert value in answered["model_text"]
    assert not tool.attempt(waiting)


def test_b06_a_decision_by_somebody_who_is_not_signed_in(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    reviewer.client.logout()
    assert reviewer.decide(waiting, "approve").status in (401, 403)
    assert agent.post(
        f"/requests/{waiting['request']['id']}/decide",
        {"type": "approve", "version": 1, "digest": waiting["digest"]},
    ).status in (401, 403, 404)
    assert not tool.attempt(waiting)


def test_b06_a_form_with_both_buttons(cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec) -> None:
    from tests.web.test_review import form_of

    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    address = f"/{cast.workspace.slug}/requests/{waiting['request']['number']}"
    form = form_of(reviewer.client.get(f"{address}?mode=approve").content.decode())
    form["sure"] = form["digest"]
    for types in (["approve", "reject"], ["reject", "approve"], ["approve", "approve"], [""], []):
        answer = reviewer.client.post(f"{address}/decide", {**form, "message": "both at once", "type": types})
        assert answer.status_code in (400, 422), types
        assert ReviewRequest.objects.get().state == "pending", types
    assert not tool.attempt(waiting)
