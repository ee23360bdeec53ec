"""Steps, tools, models and resources that are `async`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, AsyncContext, Context, Graph, ToolRun, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Kept, Proposal


class Note(BaseModel):
    text: str = ""
    parts: dict[str, str] = {}


class OneThread(MemoryStore):
    """Refuses every other thread than that of the engine."""

    def keep(self, key: str, kept: Kept) -> None:
        assert threading.current_thread() is threading.main_thread()
        super().keep(key, kept)

    def kept(self, key: str) -> Kept | None:
        assert threading.current_thread() is threading.main_thread()
        return super().kept(key)

    def progress(self, call: Any, *, partial: str) -> None:
        assert threading.current_thread() is threading.main_thread()
        super().progress(call, partial=partial)


def only_once_waits(proposal: Proposal) -> str:
    return "waiting" if proposal.effect == "once" else "allowed"


class Thinker:
    """Answers when two ask at the same time."""

    name = "thinker"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.both: asyncio.Event | None = None

    async def complete(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked.append(messages[0]["content"])
        self.both = self.both or asyncio.Event()
        if len(self.asked) == 2:
            self.both.set()
        await asyncio.wait_for(self.both.wait(), 5)
        return {"role": "assistant", "content": messages[0]["content"].upper()}


def agent(model: Any, log: list[str]) -> Graph[Note]:
    graph = Graph("reader", Note, model=model)

    @graph.resource
    async def line() -> AsyncIterator[str]:
        log.append("opened")
        yield "line"
        await asyncio.sleep(0)
        log.append("closed")

    @graph.tool("file", effect="once", time_limit=5)
    async def file(args: Note, run: ToolRun) -> str:
        """Files."""
        run.progress({"half": True})
        await asyncio.sleep(0)
        log.append(f"filed {args.text}")
        return args.text

    @graph.step(to=["after"])
    async def read(state: Note, ctx: AsyncContext[Note]) -> None:
        async def part(name: str) -> None:
            mine = ctx.part(name)
            said = await mine.model([{"content": name}])
            state.parts[name] = f"{said['content']} {await mine.record('n', lambda: len(name))}"

        await asyncio.gather(part("one"), part("three"))
        log.append(await ctx.use(line))
        result = await ctx.tool("file", {"text": state.parts["one"]})
        await ctx.checkpoint()
        state.text = str(result.value)

    @graph.step(to=[END])
    def after(state: Note, ctx: Context[Note]) -> None:
        state.text += "!"

    return graph


def test_parts_run_at_the_same_time_and_a_replay_finds_each_its_own() -> None:
    log: list[str] = []
    model = Thinker()
    graph = agent(model, log)
    store = OneThread(policy=only_once_waits)
    assert run(graph, store) == "paused"
    assert sorted(model.asked) == ["one", "three"]
    assert log == ["opened", "line", "closed"]
    store.decide("approve")
    assert run(graph, store) == "finished"
    assert len(model.asked) == 2
    assert log == ["opened", "line", "closed", "opened", "line", "filed ONE 3", "closed"]
    last = graph.states.load(store.snapshots[-1].state)
    assert (last.text, last.parts) == ("ONE 3!", {"one": "ONE 3", "three": "THREE 5"})
    assert store.partials == ['{"half":true}']


def test_a_pause_in_a_task_group_is_a_pause_and_stops_the_other_tasks() -> None:
    graph, log = Graph("grouped", Note), list[str]()

    @graph.step(to=[END])
    async def work(state: Note, ctx: AsyncContext[Note]) -> None:
        async def forever() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                log.append("stopped")

        async with asyncio.TaskGroup() as group:
            group.create_task(forever())
            group.create_task(ctx.gate("go", {}))  # type: ignore[arg-type]

    store = MemoryStore()
    assert run(graph, store) == "paused"
    assert log == ["stopped"]


def test_a_task_that_a_step_left_behind_does_not_act_on() -> None:
    graph, log = Graph("scattered", Note), list[str]()

    @graph.step(to=[END])
    async def work(state: Note, ctx: AsyncContext[Note]) -> None:
        async def later() -> None:
            try:
                await asyncio.sleep(2)
                log.append("acted")
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

        left = asyncio.create_task(later())
        await asyncio.sleep(0)
        await ctx.gate("go", {})
        await left

    assert run(graph, MemoryStore()) == "paused"
    assert log == ["cancelled"]


def test_a_tool_that_takes_too_long_is_unknown_if_it_may_not_run_twice() -> None:
    graph = Graph("slow", Note)

    @graph.tool("pay", effect="once", time_limit=0)
    async def pay(args: Note, run: ToolRun) -> None:
        """Pays."""
        await asyncio.sleep(60)

    @graph.step(to=[END])
    def work(state: Note, ctx: Context[Note]) -> None:
        ctx.tool("pay", {})

    store = MemoryStore(policy=lambda proposal: "allowed")
    assert run(graph, store) == "paused"
    (call,) = store.waiting()
    assert (call.state, "TimeoutError" in call.error) == ("unknown", True)


def test_an_error_of_an_async_step_is_what_it_was() -> None:
    graph = Graph("bad", Note)

    @graph.step(to=[END])
    async def work(state: Note, ctx: AsyncContext[Note]) -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        run(graph, MemoryStore())


@pytest.mark.parametrize("name", ["", "a/b", "x" * 41])
def test_names_of_parts(name: str) -> None:
    graph = Graph("bad", Note)

    @graph.step(to=[END])
    async def work(state: Note, ctx: AsyncContext[Note]) -> None:
        ctx.part(name)

    with pytest.raises(ValueError, match="part"):
        run(graph, MemoryStore())
