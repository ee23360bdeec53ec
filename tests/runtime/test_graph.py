"""Graphs are refused when they are put together, not at step 40."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from reviewhub_agents.runtime import END, Context, Graph, GraphError, ToolRun
from reviewhub_agents.runtime.engine import run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.places import Ask


class Count(BaseModel):
    n: int = 0
    done: list[int] = []


class Holding(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    name: str = ""
    file: io.StringIO


def step(name: str) -> Callable[[Any, Any], None]:
    def function(state: Any, ctx: Any) -> None:
        return None

    function.__name__ = name
    return function


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ({}, "no step"),
        ({"a": ["b"]}, "which is no step"),
        ({"a": []}, "goes nowhere"),
        ({"a": [END], "b": [END]}, "no way leads to step b"),
        ({"a": ["b", END], "b": ["b"]}, "no way leads from step b"),
    ],
)
def test_bad_graphs(edges: dict[str, list[str]], says: str) -> None:
    graph = Graph("bad", Count)
    for name, to in edges.items():
        graph.step(to=to)(step(name))
    with pytest.raises(GraphError, match=says):
        graph.check()


def test_a_state_that_cannot_be_stored_names_the_field() -> None:
    graph: Graph[Any] = Graph("bad", Holding)
    graph.step(to=[END])(step("a"))
    with pytest.raises(GraphError, match=r"Holding\.file"):
        graph.check()


def test_a_loop_with_a_way_out_is_fine() -> None:
    graph = Graph("good", Count)
    graph.step(to=["a", END])(step("a"))
    graph.check()


def test_an_edge_that_was_not_declared_is_refused() -> None:
    graph = Graph("bad", Count)

    @graph.step(to=["a", END])
    def a(state: Count, ctx: Context[Count]) -> str:
        return "elsewhere"

    with pytest.raises(GraphError, match="elsewhere"):
        run(graph, MemoryStore())


def test_tools_are_declared_with_a_model_and_once_has_one_try() -> None:
    graph = Graph("bad", Count)
    with pytest.raises(GraphError, match="pydantic"):

        @graph.tool("x", effect="read")  # type: ignore[type-var]
        def x(args: dict[str, Any], run: ToolRun) -> None:
            """No model."""

    with pytest.raises(GraphError, match="one try"):

        @graph.tool("y", effect="once", tries=2)
        def y(args: Count, run: ToolRun) -> None:
            """Too many tries."""


def test_a_checkpoint_inside_a_step_is_where_it_begins_again() -> None:
    graph = Graph("batch", Count, result=lambda last: last.done)
    worked: list[int] = []

    @graph.step(to=[END])
    def work(state: Count, ctx: Context[Count]) -> None:
        for n in range(5):
            if n in state.done:
                continue
            worked.append(ctx.record("work", lambda n=n: n))  # type: ignore[misc]
            if len(worked) == 4:
                raise RuntimeError("died")
            state.done.append(n)
            ctx.checkpoint()

    store = MemoryStore()
    with pytest.raises(RuntimeError):
        run(graph, store)
    assert run(graph, store) == "finished"
    assert store.result == "[0,1,2,3,4]"
    # Document 3 was under way: its record is found again, nothing before it is.
    assert worked == [0, 1, 2, 3, 3, 4]


def test_several_calls_wait_for_each_other_and_gates_run_nothing() -> None:
    graph = Graph("many", Count, result=lambda last: last.done)
    ran: list[int] = []

    @graph.tool("act", effect="once")
    def act(args: Count, run: ToolRun) -> int:
        """Acts."""
        ran.append(args.n)
        return args.n

    @graph.step(to=[END])
    def both(state: Count, ctx: Context[Count]) -> None:
        results = ctx.tools([Ask(tool="act", arguments={"n": 1}), Ask(tool="act", arguments={"n": 2})])
        state.done = [result.value for result in results if result.ok]
        if not ctx.gate("publish", {"n": 3}).ok:
            state.done = []
        state.done.append(int(ctx.ask_person("How many?").value))

    store = MemoryStore()
    assert run(graph, store) == "paused"
    store.decide("approve")
    assert store.state == "paused"
    assert ran == []
    store.decide("reject")
    assert run(graph, store) == "paused"
    assert ran == [1]
    store.decide("approve")
    assert run(graph, store) == "paused"
    store.decide("respond", value=7)
    assert run(graph, store) == "finished"
    assert store.result == "[1,7]"
    assert ran == [1]
