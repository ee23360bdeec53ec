"""The context of an asynchronous step: the same verbs, awaited."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from .children import ChildResult
from .context import Context, prompts
from .errors import ContextOverflow
from .loop import Engine
from .models import Message, Model
from .places import Ask
from .resources import Resource
from .results import ToolResult
from .work import Work

S = TypeVar("S", bound=BaseModel)
R = TypeVar("R")
MAX_PART = 40


class AsyncContext(Generic[S]):
    """Given to an asynchronous step together with the state. See `Context` for what the methods do.

    Tools run one after another, in the order in which they were asked for; models and `record` may run at the same
    time. What runs at the same time has no order that a replay could follow, so each needs a name: `ctx.part("doc-7")`.
    """

    def __init__(self, work: Work[S], state: S, engine: Engine, *, part: str = "") -> None:
        """Made by the engine, one per step."""
        self._work = work
        self._state = state
        self._engine = engine
        self._sync = Context(work, state, part=part, ordered=False)
        self._parts: dict[str, AsyncContext[S]] = {}

    def part(self, name: str) -> AsyncContext[S]:
        """The context for a part of the step that runs beside others; the same name gives the same one.

        Raises:
            ValueError: the name is empty, too long, or has a slash.
        """
        if not 0 < len(name) <= MAX_PART or "/" in name:
            raise ValueError(f"a part's name has 1 to {MAX_PART} characters and no slash, not {name!r}")
        if name not in self._parts:
            self._parts[name] = AsyncContext(self._work, self._state, self._engine, part=name)
        return self._parts[name]

    async def tool(self, name: str, arguments: Mapping[str, Any], **more: Any) -> ToolResult:
        """As `Context.tool`."""
        return await self._engine.carry_out(lambda: self._sync.tool(name, arguments, **more))

    async def tools(self, asks: Sequence[Ask]) -> list[ToolResult]:
        """As `Context.tools`."""
        return await self._engine.carry_out(lambda: self._sync.tools(asks))

    async def gate(self, name: str, subject: Mapping[str, Any], *, reason: str = "") -> ToolResult:
        """As `Context.gate`."""
        return await self._engine.carry_out(lambda: self._sync.gate(name, subject, reason=reason))

    async def ask_person(self, question: str, *, reason: str = "") -> ToolResult:
        """As `Context.ask_person`."""
        return await self._engine.carry_out(lambda: self._sync.ask_person(question, reason=reason))

    async def model(self, messages: list[Message]) -> Message:
        """As `Context.model`; a model whose `complete` blocks is asked in a thread."""
        model = self._sync.the_model()
        make = functools.partial(self._complete, model, messages)
        answer: Message = await self.record(f"model:{model.name}", make, of=messages)
        return answer

    async def record(self, key: str, make: Callable[[], Any], *, of: Any = None) -> Any:
        """As `Context.record`; what `make` returns may be awaitable."""
        look = functools.partial(self._sync.look, key, of)
        place, digest, kept = await self._engine.carry_out(look)
        if kept is None:
            made = make()
            if inspect.isawaitable(made):
                made = await made
            kept = await self._engine.carry_out(lambda: self._sync.keep(place, digest, made))
        return self._sync.value(kept)

    async def plan(self, act: Callable[[Any], R]) -> R:
        """What `act` returns, which gets `Context.plan`: `await ctx.plan(lambda plan: plan.mark("pay", "done"))`."""
        return await self._engine.carry_out(lambda: act(self._sync.plan))

    async def child(self, name: str, given: Mapping[str, Any], *, title: str = "") -> ChildResult:
        """As `Context.child`."""
        return await self._engine.carry_out(lambda: self._sync.child(name, given, title=title))

    async def start_child(self, name: str, given: Mapping[str, Any], *, title: str = "") -> str:
        """As `Context.start_child`."""
        return await self._engine.carry_out(lambda: self._sync.start_child(name, given, title=title))

    async def wait_for(self, children: Sequence[str]) -> list[ChildResult]:
        """As `Context.wait_for`."""
        return await self._engine.carry_out(lambda: self._sync.wait_for(children))

    async def sleep_until(self, when: datetime | timedelta) -> None:
        """As `Context.sleep_until`."""
        await self._engine.carry_out(lambda: self._sync.sleep_until(when))

    async def checkpoint(self) -> None:
        """As `Context.checkpoint`. Not while parts of the step still run."""
        await self._engine.carry_out(self._sync.checkpoint)

    async def use(self, resource: Resource[R]) -> R:
        """As `Context.use`."""
        return await self._engine.carry_out(lambda: self._work.resources.use(resource))

    def fit(self, messages: Sequence[Message], tokens: int) -> list[Message]:
        """As `Context.fit`."""
        return self._sync.fit(messages, tokens)

    def log(self, message: str, **fields: Any) -> None:
        """As `Context.log`."""
        self._sync.log(message, **fields)

    def onward(self, node: str) -> str:
        """The engine's own, in the engine's thread."""
        return self._sync.onward(node)

    def arrive(self, *, node: str, milestone: bool) -> None:
        """The engine's own end of a step, in the engine's thread."""
        self._sync.arrive(node=node, milestone=milestone)

    async def _complete(self, model: Model, messages: list[Message]) -> Message:
        for prompt in prompts(messages, self.fit):
            try:
                if inspect.iscoroutinefunction(model.complete):
                    return cast("Message", await model.complete(prompt))
                return await asyncio.to_thread(model.complete, prompt)
            except ContextOverflow:
                self.log("a prompt was too long", messages=len(prompt))
        raise ContextOverflow(f"{model.name} refuses this conversation however short")
