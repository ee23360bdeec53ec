"""A conversation with exactly one result for each tool call, as providers want it, from what the ledger says.

Providers refuse a conversation in which a tool call has no result, two of them, or one in the wrong place. A call may
have been rejected, edited, withdrawn, or be unknown; the model still has to be told, once, and in the right place.

OpenAI: after a message with `tool_calls` come `tool` messages, one for each `tool_call_id`, before anything
else. Anthropic: the `tool_use` blocks of a message are answered by `tool_result` blocks at the beginning of the next
message, which is the user's; an id is used once in the whole conversation.

Recorded conversations repeat ids. A call is found by its id, tool and turn of coming, and an id that was used before is
written with a number behind it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from reviewhub_agents import canonical
from reviewhub_agents.wire import CallState, DecisionType, ToolCallOut

Message = dict[str, Any]

NOT_ON_RECORD = "This call is not on record. It was not executed."
NOT_YET = {
    CallState.PROPOSED: "This call is not answered yet. It was not executed so far.",
    CallState.WAITING: "This call waits for people{request}. It was not executed so far. Do not ask for it again.",
    CallState.ALLOWED: "This call may run and has not run yet. Do not ask for it again.",
    CallState.STARTED: "This call is running. How it ends is not known yet. Do not ask for it again.",
    CallState.UNKNOWN: "Nobody knows whether this call happened; people are asked{request}. Do not ask for it again.",
}


def result_text(call: ToolCallOut | None) -> str:
    """What the model is told of a call, in every state that it may be in. None: the ledger has no such call."""
    if call is None:
        return NOT_ON_RECORD
    if call.state in NOT_YET:
        request = f" (request #{call.request.number})" if call.request else ""
        return NOT_YET[call.state].format(request=request)
    if call.state is CallState.SUCCEEDED:
        if call.decision is not None and call.decision.type is DecisionType.HAPPENED:
            return call.model_text
        return _beside(_edited(call), canonical.dumps(call.result))
    if call.state is CallState.FAILED:
        return _beside(_edited(call), f"The call failed: {call.error or 'it is not said why'}")
    return call.model_text or f"{call.message or 'The call was not allowed.'} It was not executed."


def is_error(call: ToolCallOut | None) -> bool:
    """Whether the call is over and did nothing because something went wrong: what Anthropic marks as `is_error`."""
    return call is None or call.state is CallState.FAILED


def openai(messages: Sequence[Message], calls: Iterable[ToolCallOut]) -> list[Message]:
    """The conversation in the form of OpenAI's chat API.

    Args:
        messages: as the agent keeps them, results or not: those that stand there are replaced.
        calls: of the run's ledger, in the order in which they were proposed.
    """
    ledger, names = _Ledger(calls), _Names()
    made: list[Message] = []
    for message in messages:
        if message.get("role") == "tool":
            continue
        asked = message.get("tool_calls") or []
        if message.get("role") != "assistant" or not asked:
            made.append(message)
            continue
        renamed, results = [], []
        for one in asked:
            given, tool = str(one.get("id", "")), str((one.get("function") or {}).get("name", ""))
            name = names.new(given)
            renamed.append({**one, "id": name})
            found = ledger.take(given, tool)
            results.append({"role": "tool", "tool_call_id": name, "content": result_text(found)})
        made += [{**message, "tool_calls": renamed}, *results]
    return made


def anthropic(messages: Sequence[Message], calls: Iterable[ToolCallOut]) -> list[Message]:
    """The conversation in the form of Anthropic's messages API; arguments as for `openai`.

    What the user said in the message after the calls stays behind their results.
    """
    ledger, names = _Ledger(calls), _Names()
    made: list[Message] = []
    due: list[Message] = []
    for message in messages:
        blocks = _blocks(message)
        if message.get("role") == "user":
            said = [one for one in blocks if one.get("type") != "tool_result"]
            if due or len(said) < len(blocks):
                if due or said:
                    made.append({**message, "content": due + said})
                due = []
            else:
                made.append(message)
            continue
        if due:
            made.append({"role": "user", "content": due})
            due = []
        turned = []
        for one in blocks:
            if one.get("type") == "tool_use":
                given = str(one.get("id", ""))
                name = names.new(given)
                found = ledger.take(given, str(one.get("name", "")))
                one = {**one, "id": name}
                due.append(_result_block(name, found))
            turned.append(one)
        made.append({**message, "content": turned} if due else message)
    if due:
        made.append({"role": "user", "content": due})
    return made


def _result_block(name: str, call: ToolCallOut | None) -> Message:
    block: Message = {"type": "tool_result", "tool_use_id": name, "content": result_text(call)}
    return block | ({"is_error": True} if is_error(call) else {})


def _blocks(message: Message) -> list[Message]:
    content = message.get("content")
    if isinstance(content, list):
        return [one for one in content if isinstance(one, dict)]
    return [{"type": "text", "text": content}] if content else []


def _edited(call: ToolCallOut) -> str:
    """What was really executed, and why, where a person changed the call."""
    return call.model_text if call.decision is not None and call.decision.edited else ""


def _beside(first: str, then: str) -> str:
    return f"{first}\nResult: {then}" if first else then


class _Ledger:
    """The calls of a run by the provider's id and the tool; equal ones one after the other."""

    def __init__(self, calls: Iterable[ToolCallOut]) -> None:
        self._waiting: dict[tuple[str, str], deque[ToolCallOut]] = defaultdict(deque)
        for call in calls:
            self._waiting[call.call_id, call.tool].append(call)

    def take(self, call_id: str, tool: str) -> ToolCallOut | None:
        found = self._waiting.get((call_id, tool))
        return found.popleft() if found else None


class _Names:
    """Ids that are used once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def new(self, wanted: str) -> str:
        base = wanted or "call"
        name, number = base, 1
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name
