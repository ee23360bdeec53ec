"""B01: characters that JSON may hold and a store may not. Refused by path, or kept exactly; never a 500, never lost."""

from __future__ import annotations

import json

import pytest

from reviewhub.audit.models import Event, EventPayload
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
    return (
        '{"checkpoint":{"state":{"n":1}},"tool_calls":[{"call_id":"c1","tool":"mail","arguments":'
        + arguments
        + "}]}"
    ).encode()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ('{"body":"%s"}', "/tool_calls/0/arguments/body"),
        ('{"a":{"b":[1,"%s"]}}', "/tool_calls/0/arguments/a/b/1"),
        ('{"%s":1}', "/tool_calls/0/arguments/"),
    ],
)
def test_b01_refused_naming_the_path(agent: AgentHttp, arguments: str, path: str, text: str) -> None:
    run = agent.run()["id"]
    refused = agent.post(f"/runs/{run}/pauses", raw=pause_body(arguments % text))
    assert refused.status in (400, 422)
    assert refused.json["errors"][0]["path"].startswith(path)
    assert not Pause.objects.exists()
    assert not ToolCall.objects.exists()
    assert Run.objects.get().state == "running"


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_b01_kept_exactly_everywhere(agent: AgentHttp, reviewer: PersonHttp, text: str) -> None:
    expected = json.loads(f'"{text}"')
    run = agent.run()["id"]
    paused = agent.post(f"/runs/{run}/pauses", raw=pause_body('{"body":"%s"}' % text)).ok(201)
    (call,) = paused["tool_calls"]
    assert json.loads(CallVersion.objects.get().arguments) == {"body": expected}
    shown = reviewer.get(f"/requests/{call['request']['id']}").ok()
    assert shown["arguments"] == {"body": expected}
    reviewer.decide(call, "approve", message=expected).ok()
    settled = agent.get(f"/pauses/{paused['id']}").ok()["tool_calls"][0]
    assert settled["decision"]["arguments"] == {"body": expected}
    assert settled["decision"]["message"] == expected
    assert expected in settled["model_text"]
    taken = agent.consume(settled).ok()
    assert json.loads(taken["arguments_text"]) == {"body": expected}
    agent.outcome(settled, result={"said": expected}).ok()
    assert json.loads(ToolCall.objects.get().result or "") == {"said": expected}
    assert Event.objects.filter(kind="request.decided").exists()
    payloads = [json.loads(text) for text in EventPayload.objects.values_list("payload", flat=True)]
    assert expected in json.dumps(payloads, ensure_ascii=False) or any(
        expected in str(one) for one in payloads
    )


def test_b01_an_emoji_written_as_two_escapes_is_one_character(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    agent.post(f"/runs/{run}/pauses", raw=pause_body(r'{"body":"\ud83c\udf78"}')).ok(201)
    assert CallVersion.objects.get().arguments == '{"body":"\U0001f378"}'


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "body",
    [
        '{"tool":"%s","arguments":{}}',
        '{"tool":"mail","call_id":"%s","arguments":{}}',
        '{"tool":"mail","arguments":{},"reason":"%s"}',
        '{"tool":"mail","arguments":{},"evidence":[{"title":"%s"}]}',
        '{"tool":"mail","arguments":{},"checks":[{"name":"%s","status":"passed"}]}',
        '{"tool":"mail","arguments":{},"facts":{"a":"%s"}}',
        '{"tool":"mail","arguments":{},"labels":{"a":"%s"}}',
    ],
)
def test_b01_every_field_of_a_call(agent: AgentHttp, body: str, text: str) -> None:
    run = agent.run()["id"]
    raw = '{"checkpoint":{"state":{}},"tool_calls":[' + body % text + "]}"
    refused = agent.post(f"/runs/{run}/pauses", raw=raw.encode())
    assert refused.status in (400, 422)
    assert refused.json["errors"][0]["path"].startswith("/tool_calls/0/")
    assert not Pause.objects.exists()


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_b01_the_rest_of_the_api(agent: AgentHttp, reviewer: PersonHttp, text: str) -> None:
    assert agent.post("/runs", raw=b'{"title":"%s"}' % text.encode()).status in (400, 422)
    run = agent.run()["id"]
    state = (
        b'{"checkpoint":{"state":{"a":"%s"}},"tool_calls":[{"tool":"mail","arguments":{}}]}' % text.encode()
    )
    assert agent.post(f"/runs/{run}/pauses", raw=state).status in (400, 422)
    assert agent.put("/tools/mail", raw=b'{"effect":"read","description":"%s"}' % text.encode()).status in (
        400,
        422,
    )
    (call,) = agent.post(f"/runs/{run}/pauses", raw=pause_body("{}")).ok(201)["tool_calls"]
    address = f"/requests/{call['request']['id']}"
    decide = '{"type":"reject","version":1,"digest":"%s","message":"%s"}' % (call["digest"], text)
    assert reviewer.post(f"{address}/decide", raw=decide.encode()).status in (400, 422)
    assert reviewer.post(f"{address}/comment", raw=b'{"text":"%s"}' % text.encode()).status in (400, 422)
    assert reviewer.get(address).ok()["state"] == "pending"
    reviewer.decide(call, "approve").ok()
    taken = agent.get(f"/tool-calls/{call['id']}").ok()
    agent.consume(taken).ok()
    outcome = b'{"status":"succeeded","result":{"a":"%s"}}' % text.encode()
    assert agent.post(f"/tool-calls/{call['id']}/outcome", raw=outcome).status in (400, 422)
    assert ToolCall.objects.get().state == "started"


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe{}", b"\xef\xbb\xbf{}", b'{"title":"\xc3\x28"}', b'{"title":"\xed\xa0\x80"}']
)
def test_b01_bytes_that_are_no_utf_8(agent: AgentHttp, raw: bytes) -> None:
    assert agent.post("/runs", raw=raw).status in (400, 422)
    assert not Run.objects.exists()
