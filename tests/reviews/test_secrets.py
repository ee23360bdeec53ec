"""What the pages mask people do not get from the API either; who must see it says why, and the record says who did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.shared import shared

pytestmark = pytest.mark.django_db

PASSWORD = "hunter2XYZZYsecret"
KEY = "sk-ant-api03-XYZZY" + "a" * 60
MARKED = "writeonlyXYZZY1"
PIN = 1234987
SECRETS = (PASSWORD, KEY, MARKED, str(PIN))
SCHEMA = {
    "type": "object",
    "$defs": {"card": {"properties": {"holder": {"writeOnly": True}}}},
    "properties": {
        "marked": {"type": "string", "writeOnly": True},
        "card": {"$ref": "#/$defs/card"},
        "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/card"}]},
        "pair": {"type": "array", "prefixItems": [True, {"writeOnly": True}]},
    },
    "additionalProperties": {"properties": {"inner": {"writeOnly": True}}},
}
ARGUMENTS: dict[str, Any] = {
    "password": PASSWORD,
    "marked": MARKED,
    "card": {"holder": MARKED, "network": "visa"},
    "either": {"holder": MARKED},
    "pair": ["first", {"deep": MARKED}],
    "other": {"inner": [MARKED]},
    "note": f"use {KEY} please",
    "nested": {"client_secret": [PASSWORD, True]},
    "url": f"https://u:{PASSWORD}@host/",
    "pin": PIN,
    "amount": 12.50,
}


@shared
def agent(cast: Cast) -> AgentHttp:
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    found = agent_of(cast.support)
    found.put("/tools/pay", {"effect": "idempotent", "schema": SCHEMA, "result_schema": SCHEMA}).ok(200, 201)
    return found


@shared
def waiting(agent: AgentHttp) -> Any:
    claims = {
        "reason": f"the key is {KEY}",
        "facts": {"password": PASSWORD},
        "labels": {"password": PASSWORD},
        "evidence": [{"title": "mail", "text": f"key {KEY}", "url": f"https://u:{PASSWORD}@host/"}],
        "checks": [{"name": "c", "status": "passed", "detail": KEY}],
    }
    paused = agent.pause(agent.run()["id"], call("pay", arguments=ARGUMENTS, **claims)).ok(201)
    return paused["tool_calls"][0]


def leaks(answer: Any) -> list[str]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return [secret for secret in SECRETS if secret in text]


def recorded() -> str:
    """Everything that managers can read in the record."""
    bodies = list(Event.objects.values_list("payload__body", flat=True))
    assert bodies
    return "\n".join(bodies)


def test_people_get_from_the_api_what_the_pages_show(cast: Cast, agent: AgentHttp, waiting: Any) -> None:
    path = f"/requests/{waiting['request']['id']}"
    bob = PersonHttp(cast.bob)
    asked = bob.post(f"{path}/ask", {"text": f"is {KEY} right?"}).ok(201)
    agent.post(f"/questions/{asked['id']}/answer", {"text": f"yes, {KEY}"}).ok()
    commented = bob.post(f"{path}/comment", {"text": KEY}).ok(201)
    assert leaks(asked) == leaks(commented) == []
    for who in (bob, PersonHttp(cast.carol), PersonHttp(cast.alice)):
        shown = who.get(path).ok()
        assert leaks(shown) == []
        assert shown["digest"] == waiting["digest"]
        assert shown["arguments"]["amount"] == 12.50
        assert shown["arguments"]["card"]["network"] == "visa"
        assert shown["arguments"]["note"].startswith("use sk-") and "please" in shown["arguments"]["note"]
        number = shown["number"]
        for page in ("", "?mode=edit", "?mode=edit&json=1", "/peek", "/value?path=/marked", "/live"):
            assert leaks(who.client.get(f"/northwind/requests/{number}{page}").content.decode()) == [], page
        run = ToolCall.objects.get().run_id
        assert leaks(who.client.get(f"/northwind/runs/{run}").content.decode()) == []
    (question,) = agent.get(f"/tool-calls/{waiting['id']}").ok()["questions"]
    assert question["text"] == f"is {KEY} right?", "the agent gets the words as they were written"


def test_an_edit_and_its_answer_keep_the_secrets_and_tell_none(
    cast: Cast, agent: AgentHttp, waiting: Any
) -> None:
    changes = [{"op": "set", "path": "/amount", "value": 13}]
    bob = PersonHttp(cast.bob)
    decided = bob.decide(waiting, "edit", changes=changes, message=f"not {KEY}").ok()
    assert leaks(decided) == []
    assert leaks(bob.get(f"/requests/{waiting['request']['id']}").ok()) == []
    now = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert now["decision"]["arguments"] == ARGUMENTS | {"amount": 13}
    assert now["decision"]["message"] == f"not {KEY}"
    taken = agent.consume(now).ok()
    assert taken["arguments"] == ARGUMENTS | {"amount": 13}
    agent.post(f"/tool-calls/{waiting['id']}/progress", {"partial": {"marked": MARKED}}).ok()
    assert leaks(bob.get(f"/requests/{waiting['request']['id']}").ok()) == []
    agent.outcome(now, result={"marked": MARKED, "password": PASSWORD}).ok()
    run = ToolCall.objects.get().run_id
    assert leaks(bob.client.get(f"/northwind/runs/{run}").content.decode()) == []


def test_the_record_of_an_edit_tells_no_secret(cast: Cast, waiting: Any) -> None:
    """A person may set a new secret by the API; managers read the record, and that it changed is all they need."""
    new = "brandnewXYZZY77"
    paths = {"/password": new, "/marked": new, "/card": {"holder": new}, "/nested/client_secret/0": new}
    changes = [{"op": "set", "path": path, "value": value} for path, value in paths.items()]
    changes += [
        {"op": "insert", "path": "/nested/client_secret/-", "value": new},
        {"op": "insert", "path": "/other/inner/-", "value": new},
        {"op": "set", "path": "/amount", "value": 14},
        {"op": "remove", "path": "/pin"},
    ]
    bob = PersonHttp(cast.bob)
    assert new not in json.dumps(bob.decide(waiting, "edit", changes=changes).ok())
    told = json.loads(json.loads(Event.objects.get(kind="request.changed").payload.body)["data"]["changes"])
    assert [one["path"] for one in told] == [one["path"] for one in changes]
    assert told[-2]["value"] == 14
    carol = PersonHttp(cast.carol)
    assert new not in recorded() and leaks(recorded()) == []
    number = carol.get(f"/requests/{waiting['request']['id']}").ok()["number"]
    assert new not in carol.client.get(f"/northwind/requests/{number}").content.decode()


@pytest.mark.parametrize("template", ["", "Send {marked} and {card.holder}, {pair.1.deep} with {password}"])
def test_the_sentence_says_no_secret(cast: Cast, agent: AgentHttp, template: str) -> None:
    Tool.objects.update(sentence=template)
    short = {
        "marked": MARKED,
        "password": PASSWORD,
        "card": {"holder": MARKED},
        "pair": [1, {"deep": MARKED}],
    }
    (asked,) = agent.pause(agent.run()["id"], call("pay", arguments=short)).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    row = bob.get(f"/requests/{asked['request']['id']}").ok()
    assert "•" in row["sentence"] and leaks(row["sentence"]) == []
    bob.decide(asked, "edit", changes=[{"op": "set", "path": "/marked", "value": PASSWORD}]).ok()
    assert leaks(bob.get(f"/requests/{asked['request']['id']}").ok()) == []
    assert leaks(recorded()) == []
    assert leaks(bob.client.get("/northwind/queue?state=any").content.decode()) == []


def test_whoever_may_decide_sees_them_once_and_says_why(cast: Cast, waiting: Any) -> None:
    path = f"/requests/{waiting['request']['id']}/reveal"
    bob = PersonHttp(cast.bob)
    for body in ({}, {"reason": ""}, {"reason": "  "}):
        assert bob.post(path, body).status == 422
    assert PersonHttp(cast.carol).post(path, {"reason": "curious"}).status == 403
    assert not Event.objects.filter(kind="secret.revealed").exists()
    seen = bob.post(path, {"reason": "the bank asks"})
    assert seen.headers["Cache-Control"] == "no-store"
    values = {one["path"]: one["value"] for one in seen.ok()["values"]}
    assert values == {
        "/password": PASSWORD,
        "/marked": MARKED,
        "/card/holder": MARKED,
        "/either/holder": MARKED,
        "/pair/1/deep": MARKED,
        "/other/inner/0": MARKED,
        "/note": ARGUMENTS["note"],
        "/nested/client_secret/0": PASSWORD,
        "/url": ARGUMENTS["url"],
        "/pin": PIN,
    }
    assert seen.json["digest"] == waiting["digest"]
    event = Event.objects.get(kind="secret.revealed")
    body = json.loads(event.payload.body)
    assert (body["actor"]["name"], body["data"]["reason"]) == ("Bob", "the bank asks")
    assert set(body["data"]["paths"]) == set(values)
    assert leaks(event.payload.body) == []


def test_the_page_offers_it_and_shows_it_once(cast: Cast, waiting: Any) -> None:
    bob = PersonHttp(cast.bob)
    number = bob.get(f"/requests/{waiting['request']['id']}").ok()["number"]
    address = f"/northwind/requests/{number}"
    assert f'action="{address}/reveal"' in bob.client.get(address).content.decode()
    for who in (cast.carol, cast.alice):
        assert "/reveal" not in PersonHttp(who).client.get(address).content.decode()
    assert bob.client.post(f"{address}/reveal", {"reason": " "}).status_code == 422
    shown = bob.client.post(f"{address}/reveal", {"reason": "the bank asks"})
    assert "no-store" in shown["Cache-Control"]
    assert leaks(shown.content.decode()) == list(SECRETS)
    assert leaks(bob.client.get(address).content.decode()) == []
    log = PersonHttp(cast.carol).client.get("/northwind/audit").content.decode()
    assert "looked at hidden values" in log and leaks(log) == []


def test_where_nothing_is_hidden_nothing_is_offered(cast: Cast, agent: AgentHttp) -> None:
    (plain,) = agent.pause(agent.run()["id"], call("pay", arguments={"a": 1})).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    number = bob.get(f"/requests/{plain['request']['id']}").ok()["number"]
    assert "/reveal" not in bob.client.get(f"/northwind/requests/{number}").content.decode()
    assert bob.post(f"/requests/{plain['request']['id']}/reveal", {"reason": "why not"}).status == 422
    assert not Event.objects.filter(kind="secret.revealed").exists()
