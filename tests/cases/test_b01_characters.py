"""B01: characters that JSON may hold and a store may not. Refused by path, or kept exactly; never a 500, never lost."""

from __future__ import annotations

import json

import pytest

from reviewhub.audit.models import Event
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion, Pause, ToolCall
from tests.driver import AgentHttp, PersonHttp

BAD = {
    "NUL": r"x\u0000y",
    "lone high surrogate": r"half \ud83c end",
    "lone low surrogate": r"half \udf78 end",
    "surrogates in the wrong order": r"\udf78\ud83c",
    "high surrogate at the end": r"\ud83c",
    "two high surrogates": r"\ud83c\ud83c\udf78",
}
KEPT = {
    "emoji as two escapes": r"\ud83c\udf78",
    "emoji as UTF-8": "\N{COCKTAIL GLASS}",
    "last character of Unicode": r"\udbff\udfff",
    "noncharacters": r"\ufffe\uffff\ufdd0",
    "controls": r"\u0001\u001f\u007f\u0085\u009f",
    "line separators": r"\u2028\u2029\r\n",
    "directions": r"\u202e\u2066",
    "a byte order mark inside": r"a\ufeffb",
    "composed and not": r"\u00e9 e\u0301",
    "the replacement character": r"\ufffd",
    "an escaped escape": r"\\u0000",
}


def pause_body(arguments: str) -> bytes:
    call = '{"call_id":"c1","tool":"mail","arguments":' + arguments + "}"
    return ('{"checkpoint":{"state":{"n":1}},"tool_calls":[' + call + "]}").encode()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_b01_refused_naming_the_path(agent: AgentHttp, text: str) -> None:
    run = agent.run()["id"]
    for arguments, path in (
        ('{"body":"TEXT"}', "/tool_calls/0/arguments/body"),
        ('{"a":{"b":[1,"TEXT"]}}', "/tool_calls/0/arguments/a/b/1"),
        ('{"TEXT":1}', "/tool_calls/0/arguments/"),
    ):
        refused = agent.post(f"/runs/{run}/pauses", raw=pause_body(arguments.replace("TEXT", text)))
        assert refused.status in (400, 422)
        assert refused.json["errors"][0]["path"].startswith(path)
    assert not Pause.objects.exists()
    assert not ToolCall.objects.exists()
    assert Run.objects.get().state == "running"


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_b01_kept_exactly_everywhere(agent: AgentHttp, reviewer: PersonHttp, text: str) -> None:
    expected = json.loads(f'"{text}"')
    run = agent.run()["id"]
    paused = agent.post(f"/runs/{run}/pauses", raw=pause_body('{"body":"' + text + '"}')).ok(201)
    (call,) = paused["tool_calls"]
    assert json.loads(CallVersion.objects.get().arguments) == {"body": expected}
    assert reviewer.get(f"/requests/{call['request']['id']}").ok()["arguments"] == {"body": expected}
    reviewer.decide(call, "approve", message=f"a {expected} b").ok()
    settled = agent.get(f"/pauses/{paused['id']}").ok()["tool_calls"][0]
    assert settled["decision"]["arguments"] == {"body": expected}
    assert settled["decision"]["message"] == f"a {expected} b"
    assert f"a {expected} b" in settled["model_text"]
    assert json.loads(agent.consume(settled).ok()["arguments_text"]) == {"body": expected}
    agent.outcome(settled, result={"said": expected}).ok()
    assert json.loads(ToolCall.objects.get().result or "") == {"said": expected}
    assert Event.objects.filter(kind="request.decided").exists()


def test_b01_an_emoji_written_as_two_escapes_is_one_character(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    agent.post(f"/runs/{run}/pauses", raw=pause_body(r'{"body":"\ud83c\udf78"}')).ok(201)
    assert CallVersion.objects.get().arguments == '{"body":"\U0001f378"}'


CALLS = [
    '{"tool":"TEXT","arguments":{}}',
    '{"tool":"mail","call_id":"TEXT","arguments":{}}',
    '{"tool":"mail","arguments":{},"reason":"TEXT"}',
    '{"tool":"mail","arguments":{},"evidence":[{"title":"TEXT"}]}',
    '{"tool":"mail","arguments":{},"checks":[{"name":"TEXT","status":"passed"}]}',
    '{"tool":"mail","arguments":{},"facts":{"a":"TEXT"}}',
    '{"tool":"mail","arguments":{},"labels":{"a":"TEXT"}}',
]


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_b01_every_field_of_a_call(agent: AgentHttp, text: str) -> None:
    run = agent.run()["id"]
    for one in CALLS:
        raw = '{"checkpoint":{"state":{}},"tool_calls":[' + one.replace("TEXT", text) + "]}"
        refused = agent.post(f"/runs/{run}/pauses", raw=raw.encode())
        assert refused.status in (400, 422), one
        assert refused.json["errors"][0]["path"].startswith("/tool_calls/0/"), one
    assert not Pause.objects.exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_b01_the_rest_of_the_api(agent: AgentHttp, reviewer: PersonHttp, text: str) -> None:
    def raw(template: str) -> bytes:
        return template.replace("TEXT", text).encode()

    refused = (400, 422)
    assert agent.post("/runs", raw=raw('{"title":"TEXT"}')).status in refused
    run = agent.run()["id"]
    state = '{"checkpoint":{"state":{"a":"TEXT"}},"tool_calls":[{"tool":"mail","arguments":{}}]}'
    assert agent.post(f"/runs/{run}/pauses", raw=raw(state)).status in refused
    assert agent.put("/tools/mail", raw=raw('{"effect":"read","description":"TEXT"}')).status in refused
    (call,) = agent.post(f"/runs/{run}/pauses", raw=pause_body("{}")).ok(201)["tool_calls"]
    address = f"/requests/{call['request']['id']}"
    decision = '{"type":"reject","version":1,"digest":"DIGEST","message":"TEXT"}'.replace(
        "DIGEST", call["digest"]
    )
    assert reviewer.post(f"{address}/decide", raw=raw(decision)).status in refused
    assert reviewer.post(f"{address}/comment", raw=raw('{"text":"TEXT"}')).status in refused
    assert reviewer.get(address).ok()["state"] == "pending"
    reviewer.decide(call, "approve").ok()
    agent.consume(call).ok()
    outcome = raw('{"status":"succeeded","result":{"a":"TEXT"}}')
    assert agent.post(f"/tool-calls/{call['id']}/outcome", raw=outcome).status in refused
    assert ToolCall.objects.get().state == "started"


def test_b01_bytes_that_are_no_utf_8(agent: AgentHttp) -> None:
    for raw in (b"\xff\xfe{}", b"\xef\xbb\xbf{}", b'{"title":"\xc3\x28"}', b'{"title":"\xed\xa0\x80"}'):
        assert agent.post("/runs", raw=raw).status in (400, 422), raw
    assert not Run.objects.exists()
