"""A plan, a step, the end: asked for once, done once, however often the process dies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, GraphError, PlanRefused, PlanStep, ToolRun, run
from reviewhub_agents.runtime.memory import MemoryStore

ALL = frozenset({"rh.plan", "rh.finish", "rh.step/pay"})


class Trip(BaseModel):
    version: int = 0
    note: str = ""


class Killed(BaseException):
    """The process is gone."""


def agent(*, done: bool = True) -> Graph[Trip]:
    graph = Graph("planner", Trip)

    @graph.step(to=["pay"])
    def think(state: Trip, ctx: Context[Trip]) -> None:
        try:
            state.version = ctx.plan.write(
                [PlanStep(id="pay", title="Pay")], assumptions={"open": "It is open"}
            )
        except PlanRefused as refused:
            state.note = str(refused)

    @graph.step(to=[END])
    def pay(state: Trip, ctx: Context[Trip]) -> None:
        ctx.gate("pay", {"amount": "1.00"})
        if done and state.version:
            ctx.plan.mark("pay", "done")

    return graph


class Dying(MemoryStore):
    """Loses its process before, and after, each write, once at every place."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.died: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in {"save", "pause", "consume", "outcome", "keep", "write_plan", "mark_step", "finish"}:
            return found

        def dying(*args: Any, **more: Any) -> Any:
            what = getattr(args[0], "key", args[0]) if args else more.get("key", more.get("node", ""))
            place = f"{name} {what}"
            if f"before {place}" not in self.died:
                self.died.add(f"before {place}")
                raise Killed
            answer = found(*args, **more)
            if f"after {place}" not in self.died:
                self.died.add(f"after {place}")
                raise Killed
            return answer

        return dying


def played(store: MemoryStore, graph: Graph[Trip], *, most: int = 300) -> tuple[str, list[str]]:
    """How it ended, and for what people were asked, who always agree."""
    asked: list[str] = []
    for _ in range(most):
        try:
            ending = run(graph, store)
        except Killed:
            ending = "finished" if store.state == "succeeded" else ""
        if ending and store.state != "paused":
            return ending, asked
        if store.state != "paused":
            continue
        asked += [call.tool for call in store.waiting()]
        store.decide("approve")
    raise AssertionError("it does not end")


@pytest.mark.parametrize("store", [MemoryStore, Dying])
def test_each_is_asked_for_once_and_done_once(store: type[MemoryStore]) -> None:
    kept = store(gated=ALL)
    assert played(kept, agent()) == ("finished", ["rh.plan", "rh.step/pay", "rh.gate/pay", "rh.finish"])
    assert [plan.version for plan in kept.plans] == [1]
    assert json.loads(kept.result or "")["version"] == 1


def test_without_rules_nobody_is_asked_but_open_steps_hold_the_end() -> None:
    assert played(MemoryStore(), agent()) == ("finished", ["rh.gate/pay"])
    assert played(MemoryStore(), agent(done=False)) == ("finished", ["rh.gate/pay", "rh.finish"])


def test_a_refused_plan_is_the_agent_s_to_handle_and_people_may_change_it() -> None:
    store = MemoryStore(gated=frozenset({"rh.plan"}))
    run(agent(), store)
    store.decide("reject", message="Ask first")
    run(agent(), store)
    assert store.plans == []
    assert json.loads(store.snapshots[-1].state)["note"] == "Tess: Ask first"
    store = MemoryStore(gated=frozenset({"rh.plan"}))
    run(agent(), store)
    (call,) = store.waiting()
    changed = {"base": 0, "version": 1, "steps": [{"id": "pay", "title": "Pay half"}]}
    store.decide("edit", arguments=changed)
    run(agent(), store)
    assert (call.tool, store.plans[0].steps[0].title, store.plans[0].assumptions) == (
        "rh.plan",
        "Pay half",
        {},
    )


@pytest.mark.parametrize(
    ("gate", "error"),
    [
        ("rh.step/pay", "step pay may not be entered (Tess): No"),
        ("rh.finish", "the end of the run was not accepted (Tess): No"),
    ],
)
def test_a_refused_step_or_end_fails_the_run(gate: str, error: str) -> None:
    store = MemoryStore(gated=frozenset({gate}))
    while run(agent(), store) == "paused":
        (call,) = store.waiting()
        store.decide("reject" if call.tool == gate else "approve", message="No")
    assert (store.state, store.error) == ("failed", error)


def test_agents_have_no_tool_with_a_name_of_the_server_s() -> None:
    with pytest.raises(GraphError, match=r"rh\."):

        @agent().tool("rh.pay", effect="once")
        def pay(args: Trip, run: ToolRun) -> None:
            """Pays."""


class Answer(BaseModel):
    paid: str


@pytest.mark.parametrize(
    ("value", "ok", "error"),
    [
        ({"paid": "1.00"}, True, ""),
        ("look it up yourself", False, "The answer is not what the tool would return"),
    ],
)
def test_an_answer_in_the_place_of_a_typed_read(value: Any, ok: bool, error: str) -> None:
    graph, seen = Graph("reader", Trip), []

    @graph.tool("read", effect="read", result=Answer)
    def read(args: Trip, run: ToolRun) -> Answer:
        """Reads."""
        return Answer(paid="1.00")

    @graph.step(to=[END])
    def look(state: Trip, ctx: Context[Trip]) -> None:
        found = ctx.tool("read", {})
        seen.append((found.outcome, found.ok, found.value))
        assert found.error.startswith(error)
        if found.ok:
            state.note = found.value["paid"]

    store = MemoryStore()
    run(graph, store)
    store.decide("respond", value=value)
    assert run(graph, store) == "finished"
    assert seen == [("answered", ok, value)]
