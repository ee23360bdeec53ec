"""B10: numbers reach the tool as the agent wrote them, whatever is edited beside them."""

from __future__ import annotations

from typing import Any

from reviewhub.audit.models import EventPayload
from reviewhub.toolcalls.models import CallVersion
from tests.driver import AgentHttp, PersonHttp

EXACT = '{"account_id":9007199254740993,"amt":0.1,"exp":1E2,"huge":12345678901234567890123,"note":"hello"}'
LITERALS = [
    "9007199254740993",
    "-9223372036854775809",
    "18446744073709551616",
    "12345678901234567890123",
    "1E2",
    "1e2",
    "1.0",
    "1.10",
    "-0",
    "-0.0",
    "0.1000000000000000055511151231257827",
    "1e-7",
    "1E+308",
    "5e-324",
    "1e400",
    "0.30000000000000004",
]


def paused(agent: AgentHttp, arguments: str) -> Any:
    return all_paused(agent, [arguments])[0]


def all_paused(agent: AgentHttp, arguments: list[str]) -> Any:
    """Calls of one turn, with these arguments; they are in the state, too."""
    calls = ",".join(
        f'{{"call_id":"c{place}","tool":"pay","arguments":{one}}}' for place, one in enumerate(arguments)
    )
    raw = f'{{"checkpoint":{{"state":{{"x":[{",".join(arguments)}]}}}},"tool_calls":[{calls}]}}'
    return agent.post(f"/runs/{agent.run()['id']}/pauses", raw=raw.encode()).ok(201)["tool_calls"]


def edited(reviewer: PersonHttp, waiting: Any, path: str, value: str) -> None:
    change = '{"op":"set","path":"' + path + '","value":' + value + "}"
    body = '{"type":"edit","version":1,"digest":"' + waiting["digest"] + '","changes":[' + change + "]}"
    reviewer.post(f"/requests/{waiting['request']['id']}/decide", raw=body.encode()).ok()


def text_of(client: Any, address: str, **headers: str) -> str:
    return client.get(f"/api/v1{address}", headers=headers).content.decode()


def test_b10_numbers_that_nobody_edited_keep_their_digits(agent: AgentHttp, reviewer: PersonHttp) -> None:
    waiting = paused(agent, EXACT)
    shown = text_of(reviewer.client, f"/requests/{waiting['request']['id']}")
    assert EXACT[1:-1].split(",")[0] in shown
    for literal in ("9007199254740993", "12345678901234567890123", "1E2", "0.1"):
        assert literal in shown
    edited(reviewer, waiting, "/note", '"bye"')
    now = agent.get(f"/tool-calls/{waiting['id']}").ok()
    assert now["decision"]["edited"] is True
    taken = agent.consume(now).ok()
    assert taken["arguments_text"] == EXACT.replace("hello", "bye")
    for literal in ("9007199254740993", "12345678901234567890123", "1E2"):
        assert literal in text_of(
            agent.client, f"/tool-calls/{waiting['id']}", Authorization=f"Bearer {agent.token}"
        )
    record = "".join(EventPayload.objects.values_list("body", flat=True))
    assert "9007199254740992" not in record
    assert "1.2345678901234568e" not in record.lower()


def test_b10_every_way_to_write_a_number(agent: AgentHttp, reviewer: PersonHttp) -> None:
    arguments = ['{"n":[{"x":' + literal + '}],"note":"hello"}' for literal in LITERALS]
    for sent, waiting in zip(arguments, all_paused(agent, arguments), strict=True):
        edited(reviewer, waiting, "/note", '"bye"')
        taken = agent.consume(agent.get(f"/tool-calls/{waiting['id']}").ok()).ok()
        assert taken["arguments_text"] == sent.replace("hello", "bye")


def test_b10_a_number_that_a_person_writes(agent: AgentHttp, reviewer: PersonHttp) -> None:
    calls = all_paused(agent, ['{"n":1}'] * len(LITERALS))
    for literal, waiting in zip(LITERALS, calls, strict=True):
        edited(reviewer, waiting, "/n", literal)
        version = CallVersion.objects.get(tool_call=waiting["id"], version=2)
        assert version.arguments == '{"n":' + literal + "}"


def test_b10_what_is_no_number_is_refused(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    for literal in ("NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x10", "1e99999"):
        raw = '{"checkpoint":{"state":{}},"tool_calls":[{"tool":"pay","arguments":{"n":' + literal + "}}]}"
        assert agent.post(f"/runs/{run}/pauses", raw=raw.encode()).status in (400, 422), literal


def test_b10_exact_text_may_be_sent_as_text(agent: AgentHttp, reviewer: PersonHttp) -> None:
    body = {"checkpoint": {"state": {}}, "tool_calls": [{"tool": "pay", "arguments_text": EXACT}]}
    (waiting,) = agent.post(f"/runs/{agent.run()['id']}/pauses", body).ok(201)["tool_calls"]
    reviewer.decide(waiting, "approve").ok()
    assert agent.consume(waiting).ok()["arguments_text"] == EXACT


def test_b10_different_numbers_have_different_digests(agent: AgentHttp) -> None:
    calls = all_paused(agent, ['{"n":' + literal + "}" for literal in LITERALS])
    digests = {one["digest"] for one in calls}
    assert len(digests) == len(LITERALS)


def test_b10_rules_about_numbers_see_the_exact_number(agent: AgentHttp) -> None:
    schema = '{"effect":"once","schema":{"properties":{"n":{"type":"integer","maximum":9007199254740992}}}}'
    agent.put("/tools/pay", raw=schema.encode()).ok()
    paused(agent, '{"n":9007199254740992}')
    raw = b'{"checkpoint":{"state":{}},"tool_calls":[{"tool":"pay","arguments":{"n":9007199254740993}}]}'
    refused = agent.post(f"/runs/{agent.run()['id']}/pauses", raw=raw)
    assert refused.status == 422
    assert refused.json["errors"][0]["path"] == "/tool_calls/0/arguments/n"
