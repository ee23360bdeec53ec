"""The real model against a server that is played: OpenAI's own client, no network."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from pydantic import BaseModel
from reviewhub_agents.demos import model as demo_model
from reviewhub_agents.runtime import END, Context, ContextOverflow, Graph, GraphError, ToolRun, TryLater, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.models import Recorded, Scripted
from reviewhub_agents.runtime.openai import OpenAIChat


class Order(BaseModel):
    order_id: str


class Talk(BaseModel):
    messages: list[dict[str, Any]] = []


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def served(*answers: dict[str, Any] | int) -> tuple[openai.OpenAI, list[Any]]:
    """A client whose server gives these answers (or statuses), and what it was asked."""
    asked: list[Any] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        given = left.pop(0)
        if isinstance(given, int):
            said = {"message": "no", "code": "context_length_exceeded" if given == 400 else "other"}
            return httpx.Response(given, json={"error": said}, headers={"Retry-After": "7"})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **given}}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return httpx.Response(200, json={**body, "usage": USAGE})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return openai.OpenAI(
        api_key="none", base_url="http://model.test/v1", http_client=http, max_retries=0
    ), asked


CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "shop__read", "arguments": '{"order_id":"8812","reason":"asked"}'},
}


def graph(client: openai.OpenAI) -> Graph[Talk]:
    """Asks, calls what the model wants, asks again."""
    made = Graph(
        "talker",
        Talk,
        model=OpenAIChat("small", tools=lambda: made.tools.values(), says="Be brief.", client=client),
        result=lambda last: last.messages[-1]["content"],
    )

    @made.tool("shop.read", effect="read")
    def read(args: Order, run: ToolRun) -> dict[str, str]:
        """Reads an order."""
        return {"order": args.order_id}

    @made.step(to=["act", END])
    def think(state: Talk, ctx: Context[Talk]) -> str:
        state.messages = state.messages or [{"role": "user", "content": "Order 8812?"}]
        state.messages.append(ctx.model(state.messages))
        return "act" if state.messages[-1].get("tool_calls") else END

    @made.step(to=["think"])
    def act(state: Talk, ctx: Context[Talk]) -> None:
        for call in state.messages[-1]["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            arguments.pop("reason")
            value = ctx.tool(call["function"]["name"], arguments).value
            said = {
                "role": "tool",
                "tool_call_id": call["id"],
                "name": "shop.read",
                "content": json.dumps(value),
            }
            state.messages.append(said)

    return made


def test_an_agent_talks_to_it() -> None:
    client, asked = served({"content": None, "tool_calls": [CALL]}, {"content": "It is a desk."})
    made = graph(client)
    store = MemoryStore(policy=lambda _: "allowed")
    assert run(made, store) == "finished"
    assert store.result == '"It is a desk."'
    tool = asked[0]["tools"][0]["function"]
    assert tool["name"] == "shop__read"
    assert set(tool["parameters"]["properties"]) == {"order_id", "reason"}
    assert asked[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    # What is ours does not go back; names and calls are as the API wants them.
    second = asked[1]["messages"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "tool"]
    assert second[2]["tool_calls"] == [CALL]
    assert not any("usage" in message for message in second)
    assert "name" not in second[3]
    # Its answers are recorded with what they cost.
    kept = [json.loads(value.value) for key, value in store.records.items() if "model:small" in key]
    assert kept[0]["usage"] == {"input_tokens": 11, "output_tokens": 7}
    assert kept[0]["tool_calls"][0]["function"]["name"] == "shop.read"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, TryLater),
        (500, TryLater),
        (503, TryLater),
        (400, ContextOverflow),
        (401, openai.AuthenticationError),
        (422, openai.UnprocessableEntityError),
    ],
)
def test_an_error_of_the_provider_is_said_at_once_in_the_words_of_the_engine(
    status: int, error: type[Exception]
) -> None:
    client, asked = served(status, {"content": "Now."})
    model = OpenAIChat("small", client=client)
    with pytest.raises(error) as raised:
        model.complete([{"role": "user", "content": "?"}])
    assert getattr(raised.value, "after", 7.0) == 7.0
    assert len(asked) == 1
    assert model.complete([{"role": "user", "content": "?"}])["content"] == "Now."
    assert "tools" not in asked[1]


def test_without_a_key_it_is_said_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(GraphError, match="no model can be asked"):
        OpenAIChat("small")


def test_the_demos_need_none_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(demo_model.NAME, raising=False)
    found = demo_model.chosen(lambda messages: {"content": "rules"}, tools=tuple, says="")
    assert isinstance(found, Scripted)
    assert "no key is needed" in demo_model.said()
    monkeypatch.setenv(demo_model.NAME, "small")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    named = demo_model.chosen(lambda messages: {}, tools=tuple, says="")
    assert named.name == "small"
    assert demo_model.said() == "The demo agents ask the model small."


def test_a_recording_plays_its_answers_in_order() -> None:
    user = {"role": "user", "content": "?"}
    one, two = ({"role": "assistant", "content": text} for text in ("one", "two"))
    model = Recorded([user, one, user, two])
    assert model.complete([user]) == one
    assert model.complete([user]) == one
    assert model.complete([user, one, user]) == two
    with pytest.raises(LookupError, match="has 2 answers"):
        model.complete([user, one, user, two, user])
