"""Language models, as far as the engine knows them: messages in, one message out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Message = dict[str, Any]


class Model(Protocol):
    """Something that answers a conversation. Its answer is JSON and is recorded, so a replay pays for nothing."""

    @property
    def name(self) -> str:
        """What it is called in records."""

    def complete(self, messages: list[Message]) -> Message:
        """The next message."""


@dataclass(frozen=True)
class Scripted:
    """A model that is a function: for demos and tests, needs no key and says the same every time."""

    answer: Callable[[list[Message]], Message]
    name: str = "scripted"

    def complete(self, messages: list[Message]) -> Message:
        """What the function says."""
        return self.answer(messages)


class Recorded:
    """A model that plays a recorded conversation: its nth answer is the nth message of the assistant in it.

    Which one is due follows from the messages it is given, so that it keeps nothing and a replay gets the same.
    """

    def __init__(self, messages: list[Message], *, name: str = "recorded") -> None:
        """`messages` as OpenAI's chat API takes and gives them; those of the assistant are the answers."""
        self.name = name
        self._answers: list[Message] = [message for message in messages if message["role"] == "assistant"]

    def complete(self, messages: list[Message]) -> Message:
        """The answer that comes next. Raises LookupError when the recording has no more."""
        given = sum(message["role"] == "assistant" for message in messages)
        if given >= len(self._answers):
            raise LookupError(f"the recording has {len(self._answers)} answers, and one more was asked for")
        answer: Message = self._answers[given]
        return answer
