"""Which model a demo agent asks: a few rules, or the real one that `REVIEWHUB_MODEL` names.

The rules need no key, cost nothing and say the same every time. The real one is any that speaks OpenAI's chat
completions (`OPENAI_API_KEY`, and `OPENAI_BASE_URL` for another provider or a local one); it needs
`reviewhub-agents[openai]`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from reviewhub_agents.runtime.models import Message, Model, Scripted
from reviewhub_agents.runtime.tools import Tool

NAME = "REVIEWHUB_MODEL"


def chosen(
    rules: Callable[[list[Message]], Message], *, tools: Callable[[], Iterable[Tool[Any]]], says: str
) -> Model:
    """The model of a demo agent.

    Args:
        rules: what answers when no model is named.
        tools: what a real model may call.
        says: what a real model is told first.
    """
    name = os.environ.get(NAME, "")
    if not name:
        return Scripted(rules)
    from reviewhub_agents.runtime.openai import OpenAIChat

    return OpenAIChat(name, tools=tools, says=says)


def said() -> str:
    """In a line for people, which model the demo agents have."""
    if name := os.environ.get(NAME, ""):
        return f"The demo agents ask the model {name}."
    return f"The demo agents' model is a few rules: no key is needed. {NAME} names a real one."
