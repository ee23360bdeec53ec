"""Child runs as an agent's author tries them out: a store in memory, and people played by the test."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, GraphError, ToolRun
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.testing import run_family

from tests.hosting import families


def agent(pages: list[str]) -> MemoryStore:
    families.DONE.clear()
    return MemoryStore(
        input=json.dumps({"pages": pages}),
        policy=lambda proposal: "waiting" if proposal.tool.startswith("rh.") else "allowed",
    )


def test_children_run_beside_their_parent_and_are_waited_for() -> None:
    store = agent(["a", "b!"])
    assert run_family(families.desk, store) == "paused"
    first, second = store.children.values()
    assert (first.state, second.state, families.DONE) == ("succeeded", "paused", ["a"])
    second.decide("approve")
    assert run_family(families.desk, store) == "finished"
    assert json.loads(store.result or "")["texts"] == ["seen a", "seen b!, done"]
    assert families.DONE == ["a", "b!"]


def test_a_child_that_was_not_declared_is_no_child() -> None:
    graph = Graph("lonely", families.Desk)

    @graph.step(to=[END])
    def ask(state: families.Desk, ctx: Context[families.Desk]) -> None:
        ctx.child("reader", {})

    with pytest.raises(GraphError, match="no child 'reader'"):
        run_family(graph, MemoryStore())


class Other(BaseModel):
    text: int = 0


def test_a_family_has_one_tool_and_one_graph_of_a_name() -> None:
    graph = Graph("desk", families.Desk)
    graph.child(graph)  # an agent may start itself
    graph.child(families.reader)
    assert list(graph.family()) == ["desk", "reader"]
    assert graph.named("reader") is families.reader
    with pytest.raises(GraphError, match="no child nobody"):
        graph.named("nobody")
    with pytest.raises(GraphError, match="a child reader already"):
        graph.child(Graph("reader", families.Page))

    @graph.tool("mail", effect="once")
    def mail(args: Other, run: ToolRun) -> None:
        """Another tool of the same name."""

    with pytest.raises(GraphError, match="two different tools called mail"):
        graph.every_tool()
