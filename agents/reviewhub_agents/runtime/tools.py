"""Tools of an agent: what it can do, and what doing it twice would mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, get_type_hints

from pydantic import BaseModel

from reviewhub_agents import canonical

from .errors import GraphError
from .store import Effect

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """One start of a tool. The key is the same for every attempt of one call: what the other side deduplicates by."""

    idempotency_key: str
    attempt: int
    progress: Callable[[Any], None]


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """A declared tool.

    `run` returns something JSON can hold. It raises ToolError when the action did not happen; after any other
    exception a `once` call counts as unknown, and people are asked.
    """

    name: str
    description: str
    effect: Effect
    arguments: type[A]
    run: Callable[[A, ToolRun], Any]
    time_limit: int = 300  # seconds
    tries: int = 1
    sentence: str = ""

    def describe(self) -> canonical.Tree:
        """What the hub is told of it (`wire.ToolRegister`)."""
        said = {
            "schema": self.arguments.model_json_schema(),
            "effect": self.effect,
            "time_limit": f"PT{self.time_limit}S",
            "retry": {"attempts": self.tries},
            "description": self.description,
        }
        return canonical.parse(canonical.dumps(said))


def declare(
    function: Callable[[A, ToolRun], Any],
    *,
    name: str,
    effect: Effect,
    time_limit: int,
    tries: int,
    sentence: str,
) -> Tool[A]:
    """A Tool from a function `(arguments: some BaseModel, run: ToolRun)`; its docstring is the description."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters)
    model = hints.get(parameters[0]) if len(parameters) == 2 else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise GraphError(f"tool {name}: its function takes (arguments: a pydantic model, run: ToolRun)")
    if effect == "once" and tries != 1:
        raise GraphError(f"tool {name}: a tool that must not run twice has one try")
    return Tool(
        name=name,
        description=inspect.getdoc(function) or "",
        effect=effect,
        arguments=cast("type[A]", model),
        run=function,
        time_limit=time_limit,
        tries=tries,
        sentence=sentence,
    )
