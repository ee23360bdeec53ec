"""One result for each tool call, in every state, by the pairing rules of both providers: a table, and whole talks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from reviewhub_agents.transcript import anthropic, openai, result_text
from reviewhub_agents.wire import By, ByKind, CallState, DecisionOut, DecisionType, RequestOut, ToolCallOut

AT = datetime(2026, 1, 5, 10, tzinfo=UTC)
DIGEST = "sha256:" + "0" * 64


def call(state: str, *, id: str = "c1", tool: str = "refund", decision: str = "", **more: Any) -> ToolCallOut:
    if decision:
        by = By(kind=ByKind.PERSON, name="Bob")
        edited = more.pop("edited", False)
        more["decision"] = DecisionOut(type=DecisionType(decision), by=by, decided_at=AT, edited=edited)
    return ToolCallOut(id=uuid4(), tool=tool, state=CallState(state), digest=DIGEST, call_id=id, **more)


REQUEST = RequestOut(id=uuid4(), number=7, url="https://hub/requests/7")
TABLE: list[tuple[ToolCallOut | None, str]] = [
    (None, "not on record"),
    (call("proposed"), "not answered yet"),
    (call("waiting", request=REQUEST), "waits for people (request #7)"),
    (call("allowed", decision="approve"), "has not run yet"),
    (call("started", decision="approve"), "is running"),
    (
        call("unknown", request=REQUEST),
        "Nobody knows whether this call happened; people are asked (request #7)",
    ),
    (
        call("succeeded", decision="approve", result={"ok": True}, model_text="Bob approved it."),
        '{"ok":true}',
    ),
    (
        call("succeeded", decision="edit", edited=True, result=1, model_text="Executed arguments: 900"),
        "Executed arguments: 900\nResult: 1",
    ),
    (call("succeeded", decision="happened", model_text="Bob confirmed it. Result: 1"), "Bob confirmed it"),
    (call("succeeded"), "null"),
    (call("failed", decision="approve", error="the bank is closed"), "failed: the bank is closed"),
    (
        call("failed", decision="edit", edited=True, error="no", model_text="Executed arguments: 900"),
        "Executed arguments: 900\nResult: The call failed: no",
    ),
    (call("denied", decision="reject", model_text="Bob rejected it. Their words: no"), "Bob rejected it"),
    (call("denied", decision="deny", model_text="Policy denied it."), "Policy denied it."),
    (call("denied", decision="expire", model_text="Nobody reviewed it in time."), "Nobody reviewed"),
    (call("skipped", decision="respond", model_text="Bob answered instead: 7"), "answered instead"),
    (call("skipped", decision="withdraw", model_text="It was withdrawn."), "withdrawn"),
    (call("skipped", decision="cancel", model_text="It was cancelled."), "cancelled"),
    (call("skipped", decision="skip", model_text="Go on without it."), "without it"),
    (call("denied"), "The call was not allowed. It was not executed."),
]
IDS = [f"{one.state}-{one.decision.type if one.decision else ''}" if one else "none" for one, _ in TABLE]


def test_the_table_has_every_state_and_every_type_of_decision() -> None:
    calls = [one for one, _ in TABLE if one is not None]
    assert {one.state for one in calls} == set(CallState)
    said = {one.decision.type for one in calls if one.decision}
    assert said == set(DecisionType) - {DecisionType.DID_NOT_HAPPEN}  # it makes the call allowed, once more


@pytest.mark.parametrize(("one", "says"), TABLE, ids=IDS)
def test_what_the_model_is_told(one: ToolCallOut | None, says: str) -> None:
    assert says in result_text(one)
    asked = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
    ]
    check_openai(openai(talk, [one] if one else []))
    used = {"type": "tool_use", "id": "c1", "name": "refund", "input": {}}
    talk = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": [used]}]
    check_anthropic(anthropic(talk, [one] if one else []))


def check_openai(messages: list[dict[str, Any]]) -> None:
    """Each `tool_calls` is answered at once, once; nothing else is an answer; no id is used twice."""
    due: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in due and isinstance(message["content"], str)
            due.remove(message["tool_call_id"])
            continue
        assert due == [], "something came before a result"
        due = [one["id"] for one in message.get("tool_calls") or []]
        assert seen.isdisjoint(due) and len(set(due)) == len(due)
        seen.update(due)
    assert due == []


def check_anthropic(messages: list[dict[str, Any]]) -> None:
    """`tool_use` is answered at the beginning of the user's next message; roles take turns; ids are used once."""
    due: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        assert number == 0 or message["role"] != messages[number - 1]["role"]
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
        assert results == due
        assert all(one["type"] == "tool_result" for one in blocks[: len(results)])
        due = [one["id"] for one in blocks if one["type"] == "tool_use"]
        assert seen.isdisjoint(due) and len(set(due)) == len(due)
        seen.update(due)
    assert due == []


def function(id: str, name: str = "refund") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_repeated_ids_old_results_and_strays() -> None:
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "refund two orders"},
        {"role": "assistant", "content": None, "tool_calls": [function("c1"), function("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "what the agent made up"},
        {"role": "user", "content": "are you there?"},
        {"role": "tool", "tool_call_id": "nobody's", "content": "stray"},
        {"role": "assistant", "content": None, "tool_calls": [function("c1", "mail"), function("", "mail")]},
    ]
    calls = [
        call("succeeded", result="first"),
        call("denied", decision="reject", model_text="Bob rejected it."),
        call("succeeded", tool="mail", result="sent"),
    ]
    made = openai(talk, calls)
    check_openai(made)
    told = [one["content"] for one in made if one["role"] == "tool"]
    assert told == [
        '"first"',
        "Bob rejected it.",
        '"sent"',
        "This call is not on record. It was not executed.",
    ]
    assert talk[1]["tool_calls"][1]["id"] == "c1", "what was given is not changed"
    again = openai(made, [])
    check_openai(again)


def test_anthropic_results_come_first_and_words_stay() -> None:
    use = {"type": "tool_use", "name": "refund", "input": {}}
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "refund"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I will."}, {**use, "id": "a"}, {**use, "id": "a"}],
        },
        {"role": "user", "content": [{"type": "text", "text": "hurry"}]},
        {"role": "assistant", "content": [{**use, "id": "a"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "made up"}]},
        {"role": "assistant", "content": "Done."},
    ]
    calls = [call("succeeded", id="a", result=1), call("failed", id="a", error="no"), call("unknown", id="a")]
    made = anthropic(talk, calls)
    check_anthropic(made)
    assert [one["type"] for one in made[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert [one.get("is_error", False) for one in made[2]["content"]] == [False, True, False]
    assert made[4]["content"][0]["content"].startswith("Nobody knows")
