"""Tools of an agent: what it can do, and what doing it twice would mean."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, cast, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from reviewhub_agents import canonical

from .errors import GraphError
from .resources import Resource
from .store import Effect

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")
MAX_WAIT = 60.0
"""Seconds between two tries in one process; what needs longer is not for a worker to sit out."""


class Use(Protocol):
    """How a tool comes to the agent's resources."""

    def __call__(self, resource: Resource[R]) -> R:
        """What this resource is in this process."""


def none_declared(resource: Resource[R]) -> R:
    """For a tool that is called without an engine, in a test of its own."""
    raise GraphError(f"nobody has made the resource {resource.name}")


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """One start of a tool.

    The key is the same for every attempt of one call as it was decided: what the other side deduplicates by. `progress`
    keeps what there is so far; `partial` is what an earlier attempt kept last, None without one.
    """

    idempotency_key: str
    attempt: int
    progress: Callable[[Any], None]
    partial: Any = None
    use: Use = field(repr=False, default=none_declared)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """A declared tool.

    `run` returns something JSON can hold. It raises ToolError when the action did not happen; after any other
    exception a `once` call counts as unknown, and people are asked. An asynchronous one that is not done within its
    time limit is cancelled; a synchronous one cannot be.
    """

    name: str
    description: str
    effect: Effect
    arguments: type[A]
    run: Callable[[A, ToolRun], Any] | Callable[[A, ToolRun], Awaitable[Any]]
    time_limit: int = 300  # seconds
    tries: int = 1
    wait: float = 0.5  # seconds before the first repeat; each further one waits twice as long
    result: Any = None
    sentence: str = ""

    def describe(self) -> canonical.Tree:
        """What the hub is told of it (`wire.ToolRegister`)."""
        said: dict[str, Any] = {
            "schema": self.arguments.model_json_schema(),
            "effect": self.effect,
            "time_limit": f"PT{self.time_limit}S",
            "retry": {"attempts": self.tries},
            "description": self.description,
        }
        if self.wait != Tool.wait:
            said["retry"]["wait"] = f"PT{self.wait:f}S"
        if self._result is not None:
            said["result_schema"] = self._result.json_schema(mode="serialization")
        return canonical.parse(canonical.dumps(said))

    def pause_before(self, repeat: int) -> float:
        """Seconds to wait before a repeat; the first one is 1."""
        return float(min(self.wait * 2 ** (repeat - 1), MAX_WAIT))

    def misfit(self, result: str) -> str:
        """Why a result (canonical text) is none that this tool may give; empty when it is fine."""
        if self._result is None:
            return ""
        try:
            self._result.validate_json(result)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"{canonical.pointer(list(first['loc'])) or 'the whole result'}: {first['msg']}"
        return ""

    @cached_property
    def _result(self) -> TypeAdapter[Any] | None:
        return None if self.result is None else TypeAdapter(self.result)


def declare(
    function: Callable[[A, ToolRun], Any],
    *,
    name: str,
    effect: Effect,
    time_limit: int,
    tries: int,
    wait: float,
    result: Any,
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
    if tries < 1 or wait < 0:
        raise GraphError(f"tool {name}: {tries} tries with {wait} s between them cannot be")
    made = Tool(
        name=name,
        description=inspect.getdoc(function) or "",
        effect=effect,
        arguments=cast("type[A]", model),
        run=function,
        time_limit=time_limit,
        tries=tries,
        wait=wait,
        result=result,
        sentence=sentence,
    )
    try:
        made.describe()
    except Exception as error:
        raise GraphError(f"tool {name} cannot be described: {error}") from error
    return made
