"""What an agent needs and no state can hold: connections, files, clients. Made anew in each process, then closed."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from .errors import GraphError
from .loop import Loop

R = TypeVar("R")


@dataclass(frozen=True)
class Resource(Generic[R]):
    """A declared resource; `ctx.use(it)` and `run.use(it)` give what it made.

    `make` is a function without arguments that returns it, or yields it once and closes it after that.
    """

    name: str
    make: Callable[[], R | Iterator[R] | AsyncIterator[R]]


class Opened:
    """The resources of one process: each made when it is used first, and closed with the others in reverse order."""

    def __init__(self, declared: Mapping[str, Resource[Any]], loop: Loop) -> None:
        """Made by the engine."""
        self._declared = declared
        self._loop = loop
        self._made: dict[str, Any] = {}
        self._stack = ExitStack()

    def use(self, resource: Resource[R]) -> R:
        """What this resource is in this process.

        Raises:
            GraphError: it is none of this agent's.
            Exception: what making it raised; the next use tries again.
        """
        if self._declared.get(resource.name) is not resource:
            raise GraphError(f"this agent declares no resource {resource.name}")
        if resource.name not in self._made:
            self._made[resource.name] = self._open(resource)
        return cast("R", self._made[resource.name])

    def _open(self, resource: Resource[Any]) -> Any:
        make = resource.make
        if inspect.isgeneratorfunction(make):
            return self._stack.enter_context(contextmanager(make)())
        if inspect.isasyncgenfunction(make):
            manager = asynccontextmanager(make)()
            made = self._loop.run(manager.__aenter__())
            self._stack.callback(lambda: self._loop.run(manager.__aexit__(None, None, None)))
            return made
        return make()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
