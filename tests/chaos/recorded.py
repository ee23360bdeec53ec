"""A hosted agent whose model is a recording: its turns, its calls with exactly their arguments, and one effect each.

The recording lies beside the checkout (or is what `REPLAY_FILE` names); without one, small made-up talks are played.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from reviewhub_agents.demos.support_shop import folder
from reviewhub_agents.runtime import END, Ask, Context, Graph, ToolRun
from reviewhub_agents.runtime.models import Message, Recorded

from tests.agents.talks import BOOK, CANCEL, SEARCH, conversation

RECORDING = Path(
    os.environ.get("REPLAY_FILE")
    or Path(__file__).resolve().parents[3] / "shared" / "data" / "airline-runs" / "runs.jsonl.gz"
)
WRITES = {
    "book_reservation",
    "cancel_reservation",
    "update_reservation_flights",
    "update_reservation_baggages",
    "update_reservation_passengers",
    "send_certificate",
}
MOST_IN_A_TURN = 3


def _talks() -> list[list[Message]]:
    if not RECORDING.exists():
        return [conversation(SEARCH, BOOK, BOOK, CANCEL)["messages"], conversation(BOOK, SEARCH)["messages"]]
    with gzip.open(RECORDING, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["messages"] for line in lines]


TALKS = _talks()


def in_one_turn(talk: list[Message]) -> list[Message]:
    """The same talk with calls that follow each other put into one turn, each with an id of its own."""
    found: list[Message] = []
    open_turn: list[Message] = []
    for message in talk:
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        if not calls:
            found.append(message)
            if message["role"] != "tool":
                open_turn = []
            continue
        if not open_turn or len(open_turn) + len(calls) > MOST_IN_A_TURN:
            open_turn = []
            found.append({**message, "tool_calls": open_turn})
        open_turn += [
            {**call, "id": f"{call.get('id')}-{at}"} for at, call in enumerate(calls, len(open_turn))
        ]
    return found


def talk_of(number: int, *, together: bool) -> list[Message]:
    """One of the recorded talks."""
    talk = TALKS[number % len(TALKS)]
    return in_one_turn(talk) if together else talk


def calls_of(talk: list[Message]) -> list[str]:
    """The names of all calls of a talk, in order."""
    said = [call for message in talk for call in message.get("tool_calls") or ()]
    return [call["function"]["name"] for call in said]


def effects() -> list[str]:
    """The idempotency key of each write that was done, once for each time that it was."""
    path = folder() / "air.txt"
    return path.read_text().split() if path.exists() else []


class Given(BaseModel):
    """Whatever the recorded model wrote."""

    model_config = ConfigDict(extra="allow")


class Talk(BaseModel):
    """Which talk it is, and how far it is."""

    number: int = 0
    together: bool = False
    messages: list[Message] = []


class _Model:
    name = "recorded"

    def complete(self, messages: list[Message]) -> Message:
        """The answer of the talk that the first message names."""
        number, _, together = str(messages[0]["content"]).partition(" ")
        return Recorded(talk_of(int(number), together=bool(together))).complete(messages[1:])


recorded = Graph("recorded", Talk, model=_Model(), result=lambda last: last.messages[1:])


@recorded.step(to=["act", "think", END])
def think(state: Talk, ctx: Context[Talk]) -> str:
    """The next answer; behind one without calls, what the customer says to it."""
    if not state.messages:
        opening = {"role": "system", "content": f"{state.number}{' together' if state.together else ''}"}
        state.messages = [opening, *_people(state)]
    state.messages.append(ctx.model(state.messages))
    if state.messages[-1].get("tool_calls"):
        return "act"
    state.messages += _people(state)
    return _onward(state)


@recorded.step(to=["think", END])
def act(state: Talk, ctx: Context[Talk]) -> str:
    """All calls of the turn at once, and one result for each."""
    calls = state.messages[-1]["tool_calls"]
    asks = [
        Ask(tool=f"air.{one['function']['name']}", arguments=json.loads(one["function"]["arguments"]))
        for one in calls
    ]
    for call, result in zip(calls, ctx.tools(asks), strict=True):
        said = json.dumps({"outcome": result.outcome, "note": result.model_text})
        state.messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})
    return _onward(state)


def _answers(messages: list[Message]) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def _people(state: Talk) -> list[Message]:
    """What others say in the recording between the answer that was given last and the next one."""
    found, seen, given = [], 0, _answers(state.messages)
    for message in talk_of(state.number, together=state.together):
        seen += message["role"] == "assistant"
        if seen == given and message["role"] in {"system", "user"}:
            found.append(message)
    return found


def _onward(state: Talk) -> str:
    whole = _answers(talk_of(state.number, together=state.together))
    return "think" if _answers(state.messages) < whole else END


def _tool(name: str) -> Callable[[Given, ToolRun], dict[str, Any]]:
    def run(args: Given, run: ToolRun) -> dict[str, Any]:
        """Does what it is called, once each time that it runs."""
        if name in WRITES:
            folder().mkdir(parents=True, exist_ok=True)
            with (folder() / "air.txt").open("a") as file:
                file.write(f"{run.idempotency_key}\n")
        return {"did": name}

    return run


for _name in sorted({name for talk in TALKS for name in calls_of(talk)}):
    recorded.tool(f"air.{_name}", effect="once" if _name in WRITES else "read")(_tool(_name))
