"""The operator's limits hold on every way in, and what is refused leaves nothing behind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents import canonical, wire

from reviewhub import env
from reviewhub.toolcalls.models import Pause
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call, policy
from tests.shared import shared

pytestmark = pytest.mark.django_db


@shared
def agent(cast: Cast) -> AgentHttp:
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    return agent_of(cast.support)


def refused(reply: Reply, path: str, *words: str) -> None:
    assert reply.status == 422, reply
    error = reply.json["errors"][0]
    assert (error["path"], error["code"]) == (path, "too_large")
    for word in words:
        assert word in error["message"]


def test_the_number_of_calls_is_the_operators(agent: AgentHttp, settings: Any) -> None:
    settings.LIMIT_TOOL_CALLS = 2
    run = agent.run()["id"]
    calls = [call(call_id=f"c{place}") for place in range(3)]
    refused(agent.pause(run, *calls), "/tool_calls", "3", "2")
    agent.pause(run, *calls[:2]).ok(201)
    settings.LIMIT_TOOL_CALLS = 30
    agent.pause(agent.run()["id"], *[call(call_id=f"c{place}") for place in range(25)]).ok(201)


def test_a_large_call_goes_the_whole_way(agent: AgentHttp, cast: Cast, settings: Any) -> None:
    """What was let in is never lost at a later step because the message that carries it has a smaller limit."""
    settings.LIMIT_ARGUMENTS_BYTES = 3_000_000
    text = "z" * 1_500_000
    run = agent.run()["id"]
    paused = agent.pause(run, call(arguments={"text": text})).ok(201)
    (waiting,) = paused["tool_calls"]
    bob = PersonHttp(cast.bob)
    row = bob.get(f"/requests/{waiting['request']['id']}").ok()
    for page in ("", "?mode=edit", "?mode=edit&json=1", "/value?path=/text&sheet=2"):
        assert bob.client.get(f"/northwind/requests/{row['number']}{page}").status_code == 200, page
    changes = [{"op": "set", "path": "/note", "value": "checked"}]
    bob.decide(waiting, "edit", changes=changes).ok()
    settled = agent.get(f"/pauses/{paused['id']}").ok()
    wire.PauseOut.from_tree(canonical.parse(json.dumps(settled)), lenient=True)
    allowed = agent.get(f"/tool-calls/{waiting['id']}").ok()
    taken = agent.consume(allowed, key="once").ok()
    assert taken["arguments"] == {"note": "checked", "text": text}
    assert json.loads(taken["arguments_text"]) == taken["arguments"]
    wire.ConsumeOut.from_tree(canonical.parse(json.dumps(taken)), lenient=True)
    assert agent.consume(allowed, key="once").ok() == taken
    assert agent.outcome(allowed, result={"said": text}).ok()
    assert agent.get(f"/tool-calls/{waiting['id']}").ok()["state"] == "succeeded"
    assert bob.client.get(f"/northwind/runs/{run}").status_code == 200


def test_the_length_of_a_text_is_the_operators_for_agents_and_people(
    agent: AgentHttp, cast: Cast, settings: Any
) -> None:
    settings.LIMIT_TEXT_BYTES = 100
    run = agent.run()["id"]
    refused(agent.pause(run, call(reason="x" * 101)), "/tool_calls/0/reason", "101", "100")
    (waiting,) = agent.pause(run, call(reason="x" * 100)).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    refused(bob.decide(waiting, "reject", message="x" * 101), "/message", "101", "100")
    settings.LIMIT_TEXT_BYTES = 200_000
    bob.decide(waiting, "reject", message="x" * 100_000).ok()


def test_the_page_keeps_to_the_same_limit(agent: AgentHttp, cast: Cast, settings: Any) -> None:
    settings.LIMIT_TEXT_BYTES = 100
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    row = bob.get(f"/requests/{waiting['request']['id']}").ok()
    form = {
        "type": "reject",
        "version": 1,
        "digest": waiting["digest"],
        "message": "x" * 101,
        "key": "k" * 20,
    }
    answer = bob.client.post(f"/northwind/requests/{row['number']}/decide", form)
    assert answer.status_code == 422
    assert "the limit is 100" in answer.content.decode()
    assert bob.get(f"/requests/{waiting['request']['id']}").ok()["state"] == "pending"


@pytest.mark.parametrize(
    "bad",
    [
        {"tool_calls": [call("never_seen"), call("pay", arguments={"amount": "much"})]},
        {"checkpoint": {"state": {"x": "y" * 200}}},
        {"tool_calls": [call("never_seen"), call("a\u200b\u0001")]},
    ],
    ids=["arguments", "checkpoint", "name"],
)
def test_a_refused_pause_leaves_no_tool_behind(agent: AgentHttp, bad: dict[str, Any], settings: Any) -> None:
    settings.LIMIT_STATE_BYTES = 100
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    agent.put("/tools/pay", {"effect": "once", "schema": schema}).ok(200, 201)
    body = {"checkpoint": {"state": {}}, "tool_calls": [call("never_seen")], **bad}
    assert agent.post(f"/runs/{agent.run()['id']}/pauses", body).status in (413, 422)
    assert list(Tool.objects.values_list("name", flat=True)) == ["pay"]
    assert not Pause.objects.exists()


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("levels", [97, 98, 99, 100])
def test_a_repeat_is_answered_whatever_its_answer_repeats(levels: int, agent: AgentHttp, cast: Cast) -> None:
    """The arguments are as deep as the limit allows, so the answer around them is deeper."""
    body = {"checkpoint": {"state": {}}, "tool_calls": [{"tool": "deep", "arguments_text": nested(levels)}]}
    pause = agent.post(f"/runs/{agent.run()['id']}/pauses", body).ok(201)
    first, again = (
        PersonHttp(cast.bob).decide(pause["tool_calls"][0], "approve", key="same") for _ in range(2)
    )
    assert first.ok()["decision"]
    assert again.ok() == first.json


@pytest.mark.django_db(transaction=True)
def test_a_repeat_of_the_longest_answer(agent: AgentHttp, cast: Cast, settings: Any) -> None:
    one = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]
    start = f'{{"type":"respond","version":1,"digest":"{one["digest"]}","value":"'
    raw = (start + "x" * (settings.LIMIT_BODY_BYTES - len(start) - 2) + '"}').encode()
    path = f"/requests/{one['request']['id']}/decide"
    first, again = (PersonHttp(cast.bob).post(path, raw=raw, key="same") for _ in range(2))
    assert len(json.dumps(first.ok())) > settings.LIMIT_BODY_BYTES
    assert again.ok() == first.json


def reads_whole(agent: AgentHttp, bob: PersonHttp, pause: Any, run: str, deep: Any) -> None:
    """Everything that shows the call's deep values shows them."""
    one = pause["tool_calls"][0]
    row = bob.get(f"/requests/{one['request']['id']}").ok()
    assert row["arguments"]["deep"] == deep
    for page in ("", "?mode=edit", "?mode=edit&json=1"):
        assert bob.client.get(f"/northwind/requests/{row['number']}{page}").status_code == 200, page
    assert bob.client.get(f"/northwind/runs/{run}").status_code == 200
    for path in (f"/pauses/{pause['id']}", f"/tool-calls/{one['id']}"):
        agent.get(path).ok()
    assert agent.get(f"/checkpoints/{pause['checkpoint']['id']}").ok()["state"] == {"deep": deep}
    assert agent.get(f"/runs/{run}").ok()["input"] == {"deep": deep}


@pytest.mark.parametrize("later", [150, 40], ids=["as it was", "lowered afterwards"])
def test_what_was_taken_once_is_read_under_any_limit(
    agent: AgentHttp, cast: Cast, settings: Any, later: int
) -> None:
    settings.LIMIT_DEPTH = 150
    deep = json.loads(nested(140))
    schema = {"type": "object", "properties": {"deep": {"type": "object"}, "note": {"type": "string"}}}
    agent.put("/tools/deep", {"effect": "once", "schema": schema}).ok()
    run = agent.run(input={"deep": deep})["id"]
    asked = call("deep", arguments={"deep": deep})
    pause = agent.pause(run, asked, checkpoint={"state": {"deep": deep}}).ok(201)
    second = agent.pause(agent.run()["id"], asked).ok(201)["tool_calls"][0]
    settings.LIMIT_DEPTH = later
    bob, one = PersonHttp(cast.bob), pause["tool_calls"][0]
    reads_whole(agent, bob, pause, run, deep)
    bob.decide(one, "approve").ok()
    taken = agent.consume(one, key="once").ok()
    assert taken["arguments"] == {"deep": deep}
    assert json.loads(taken["arguments_text"]) == {"deep": deep}
    agent.outcome(one).ok()
    change = [{"op": "set", "path": "/note", "value": "checked"}]
    edited = bob.decide(second, "edit", changes=change)
    if later == 150:
        edited.ok()
    else:
        assert (edited.status, edited.json["errors"][0]["path"]) == (422, "/changes"), "an edit is sent today"
        bob.decide(second, "approve").ok()


@pytest.mark.parametrize("levels", [149, 150])
def test_depth_is_the_operators_also_in_a_text_within(agent: AgentHttp, settings: Any, levels: int) -> None:
    settings.LIMIT_DEPTH = 149
    body = {"checkpoint": {"state": {}}, "tool_calls": [{"tool": "deep", "arguments_text": nested(levels)}]}
    reply = agent.post(f"/runs/{agent.run()['id']}/pauses", body)
    assert reply.status == (201 if levels == 149 else 422)
    if levels == 150:
        assert "149" in reply.json["errors"][0]["message"]


def test_a_depth_that_cannot_be_shown_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMIT_DEPTH", "201")
    with pytest.raises(env.BadSetting, match="LIMIT_DEPTH='201' is more than 200"):
        env.number("LIMIT_DEPTH", 100, most=200)


def test_the_number_of_values_is_the_operators(agent: AgentHttp, cast: Cast, settings: Any) -> None:
    settings.LIMIT_ARGUMENTS_VALUES = 5
    run = agent.run()["id"]
    over, just = {"l": [1, 2, {"a": ","}]}, {"l": [1, [",,,,,,"]]}
    where = "/tool_calls/0/arguments"
    refused(agent.pause(run, call(arguments=over)), where, "5")
    text = {"tool": "refund", "arguments_text": json.dumps(over)}
    assert agent.pause(run, text).json["errors"][0]["code"] == "too_large"
    assert agent.pause(run, {**text, "arguments_text": json.dumps(just)}).status == 201
    refused(agent.post("/policy/explain", {"tool": "refund", "arguments": over}), "/arguments", "5")
    agent.post("/policy/explain", {"tool": "refund", "arguments": just}).ok()
    (waiting,) = agent.pause(agent.run()["id"], call(arguments=just)).ok(201)["tool_calls"]
    added = [{"op": "insert", "path": "/l/-", "value": 1}]
    refused(PersonHttp(cast.bob).decide(waiting, "edit", changes=added), "/changes", "5")


def test_ten_thousand_values_are_taken(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    refused(agent.pause(run, call(arguments={"l": [1] * 9999})), "/tool_calls/0/arguments", "10000")
    agent.pause(run, call(arguments={"l": [1] * 9998})).ok(201)


def test_keys_lead_to_values_and_not_on_and_on(agent: AgentHttp) -> None:
    """Whoever masks or shows a value writes its path: some long keys over many values would fill the memory."""
    run = agent.run()["id"]
    long: Any = list(range(100))
    for _ in range(20):
        long = {"k" * 99: long}
    refused(agent.pause(run, call(arguments={"a": long})), "/tool_calls/0/arguments", "2000")
    agent.pause(run, call(arguments=long["k" * 99])).ok(201)


def test_a_result_of_many_values_is_asked_about_by_its_digest(agent: AgentHttp, cast: Cast) -> None:
    policy(cast.support, {"name": "Ends", "tool": "rh.finish", "action": "require"})
    run = agent.run()
    said = agent.post(f"/branches/{run['branches'][0]['id']}/finish", {"result": [1] * 9990})
    assert (said.status, said.code) == (409, "approval_needed")
    asked = {"call_id": "end", "tool": "rh.finish", "arguments_text": said.json["arguments_text"]}
    agent.pause(run["id"], asked).ok(201)


@pytest.mark.parametrize("name", ["files_delete\n", "rh.nonsense", ""])
def test_the_name_of_a_tool_is_refused_where_it_stands(agent: AgentHttp, name: str) -> None:
    run = agent.run()["id"]
    asked = agent.pause(run, call(), call(tool=name, call_id="second"))
    ran = {"outcome": {"status": "succeeded"}}
    told = {"tool_calls": [{**call(), **ran}, {**call(tool=name, call_id="second"), **ran}]}
    for refusal in (asked, agent.post(f"/runs/{run}/observations", told)):
        assert (refusal.status, refusal.json["errors"][0]["path"]) == (422, "/tool_calls/1/tool")
