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
