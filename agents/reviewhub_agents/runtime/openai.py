"""A real model: whatever speaks OpenAI's chat completions, through OpenAI's own client.

    pip install 'reviewhub-agents[openai]'

Most providers and local servers speak it, at an address of their own (`OPENAI_BASE_URL`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import ContextOverflow, GraphError, TryLater
from .models import Message
from .tools import Tool

DOT = "__"
"""What stands for the dot in names of tools, which the API does not take."""
REASON = {
    "type": "string",
    "description": "Why, in one sentence: whoever decides whether it may run reads it.",
}


class OpenAIChat:
    """Asks a chat model. It keeps no conversation: the state of the agent does.

    The key is read from `OPENAI_API_KEY`. A rate limit, an overload, a time-out or a line that is cut is TryLater, a
    prompt that is too long ContextOverflow; other errors are those of the client (`openai.APIError`). The client itself
    tries nothing again, since the engine does that, from the last checkpoint.
    """

    def __init__(
        self,
        name: str,
        *,
        tools: Callable[[], Iterable[Tool[Any]]] = tuple,
        says: str = "",
        timeout: float = 120.0,
        client: Any = None,
    ) -> None:
        """
        Args:
            name: of the model.
            tools: what it may call, asked for at each call; a reason is among the arguments of each.
            says: a system message in front of every conversation.
            timeout: seconds without an answer.
            client: an `openai.OpenAI` of one's own.

        Raises:
            GraphError: the package `openai` is missing, or no key is set.
        """
        self._name, self._tools, self._says = name, tools, says
        self._client = client or _client(timeout)

    @property
    def name(self) -> str:
        """What it is called in records."""
        return self._name

    def complete(self, messages: list[Message]) -> Message:
        """The next message: role, content, and `tool_calls` when there are some; `usage` as the provider says it."""
        tools = [_described(tool) for tool in self._tools()]
        asked: dict[str, Any] = {"model": self._name, "messages": self._sent(messages)}
        if tools:
            asked["tools"] = tools
        with _translated():
            answer = self._client.chat.completions.create(**asked)
        said = answer.choices[0].message
        message: Message = {"role": "assistant", "content": said.content}
        if said.tool_calls:
            message["tool_calls"] = [_call(call) for call in said.tool_calls]
        if answer.usage is not None:
            message["usage"] = {
                "input_tokens": answer.usage.prompt_tokens,
                "output_tokens": answer.usage.completion_tokens,
            }
        return message

    def _sent(self, messages: list[Message]) -> list[Message]:
        """The conversation as the API takes it: without what is ours, with its names of tools."""
        first: list[Message] = [{"role": "system", "content": self._says}] if self._says else []
        return first + [_for_the_api(message) for message in messages]


def _client(timeout: float) -> Any:
    try:
        import openai
    except ImportError as error:
        raise GraphError("a real model needs the package openai: reviewhub-agents[openai]") from error
    try:
        return openai.OpenAI(timeout=timeout, max_retries=0)
    except openai.OpenAIError as error:
        raise GraphError(f"no model can be asked: {error}") from error


@contextmanager
def _translated() -> Iterator[None]:
    """The client's errors that the engine knows what to do about, in its words."""
    import openai

    try:
        yield
    except (openai.RateLimitError, openai.InternalServerError) as error:
        raise TryLater(str(error), after=_after(error.response.headers.get("retry-after", ""))) from error
    except openai.APIConnectionError as error:
        raise TryLater(str(error)) from error
    except openai.BadRequestError as error:
        if error.code == "context_length_exceeded":
            raise ContextOverflow(str(error)) from error
        raise


def _after(said: str) -> float | None:
    """Seconds, where the provider names them; it may name a date instead."""
    return float(said) if said.replace(".", "", 1).isdecimal() else None


def _described(tool: Tool[Any]) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema()
    schema["properties"] = {**schema.get("properties", {}), "reason": REASON}
    function = {"name": tool.name.replace(".", DOT), "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _call(call: Any) -> dict[str, Any]:
    function = {"name": call.function.name.replace(DOT, "."), "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _for_the_api(message: Message) -> Message:
    sent = {name: value for name, value in message.items() if name not in {"usage", "name"}}
    if "tool_calls" in sent:
        sent["tool_calls"] = [
            {**call, "function": {**call["function"], "name": call["function"]["name"].replace(".", DOT)}}
            for call in sent["tool_calls"]
        ]
    return sent
