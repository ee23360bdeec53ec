"""A shorter prompt from a long conversation: the conversation stays whole, the model gets what fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reviewhub_agents import canonical, weight

from .errors import ContextOverflow

Message = dict[str, Any]
Count = Callable[[Sequence[Message]], int]


def estimate(messages: Sequence[Message]) -> int:
    """About how many tokens these messages are, for a model that does not count itself."""
    return weight.tokens(canonical.dumps(list(messages)))


def fit(messages: Sequence[Message], tokens: int, *, count: Count = estimate) -> list[Message]:
    """The messages that a prompt of at most `tokens` has room for.

    Kept are what stands first (system and developer messages and the first message after them) and as many of the
    newest turns as there is room for. A call of a tool and its results are one turn and are never parted, so the
    prompt stays valid for OpenAI's and Anthropic's rules of pairing. One message says how many were left out.

    Raises:
        ContextOverflow: not even the beginning and the newest turn fit.
    """
    if count(messages) <= tokens:
        return list(messages)
    turns = _turns(messages)
    first = _beginning(turns)
    head = [message for turn in turns[:first] for message in turn]
    rest = turns[first:]
    kept: list[list[Message]] = []
    for turn in reversed(rest):
        tried = [turn, *kept]
        if count(_whole(head, len(rest) - len(tried), rest, tried)) > tokens:
            break
        kept = tried
    if not kept:
        raise ContextOverflow(f"the beginning and the newest turn alone are more than {tokens} tokens")
    return _whole(head, len(rest) - len(kept), rest, kept)


def _whole(
    head: list[Message], left_out: int, rest: list[list[Message]], kept: list[list[Message]]
) -> list[Message]:
    gone = sum(len(turn) for turn in rest[:left_out])
    note = [{"role": "user", "content": f"[{gone} earlier messages are left out here.]"}] if gone else []
    return [*head, *note, *(message for turn in kept for message in turn)]


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if turns and _is_result(message):
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _is_result(message: Message) -> bool:
    """Whether a message holds results of tools: OpenAI's role `tool`, Anthropic's blocks `tool_result`."""
    if message.get("role") == "tool":
        return True
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _beginning(turns: list[list[Message]]) -> int:
    """How many turns stand first and are kept: instructions, and what the conversation began with."""
    number = 0
    while number < len(turns) and turns[number][0].get("role") in {"system", "developer"}:
        number += 1
    return min(number + 1, max(len(turns) - 1, 0))
