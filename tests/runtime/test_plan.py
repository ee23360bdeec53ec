"""A step that starts again writes no second version of its plan, and sees the plan that it saw."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, Plan, PlanChanged, PlanStep, ReplayDiverged, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Kept

LOOK, PAY = PlanStep(id="look", title="Look"), PlanStep(id="pay", title="Pay")


class Trip(BaseModel):
    seen: list[Any] = []


def planner(titles: list[str] | None = None) -> Graph[Trip]:
    """Plans, marks, waits for people, plans anew and marks again, all in one step."""
    graph = Graph("planner", Trip)
    words = titles or ["Look"]

    @graph.step(to=[END])
    def work(state: Trip, ctx: Context[Trip]) -> None:
        first = PlanStep(id="look", title=words.pop(0) if len(words) > 1 else words[0])
        state.seen.append(ctx.plan.write([first, PAY], assumptions={"late": "It is too late"}))
        ctx.plan.mark("look", "running")
        ctx.plan.mark("look", "done", "quick")
        plan = ctx.plan.now()
        assert plan is not None
        ctx.gate("pay", {"amount": "1.00"})
        state.seen.append(
            [ctx.plan.write([PAY], contradicted="late", base=plan.version), plan.steps[0].status]
        )
        ctx.plan.mark("pay", "done")

    return graph


def test_a_replay_plans_once() -> None:
    store = MemoryStore()
    assert run(planner(), store) == "paused"
    store.decide("approve")
    assert run(planner(), store) == "finished"
    assert [plan.version for plan in store.plans] == [1, 2]
    assert store.result == '{"seen":[1,[2,"done"]]}'
    assert [(step.id, step.status) for step in store.plans[0].steps] == [("look", "done"), ("pay", "pending")]
    assert [(step.id, step.status) for step in store.plans[1].steps] == [("pay", "done")]


class Killed(Exception):
    """The process is gone."""


class Forgetful(MemoryStore):
    """Loses its process right after each act about the plan, before the act was recorded, once at every place."""

    def keep(self, key: str, kept: Kept) -> None:
        if "plan." in key and key not in self.partials:
            self.partials.append(key)
            raise Killed
        super().keep(key, kept)


def test_killed_after_any_act_it_does_none_twice() -> None:
    store, ending = Forgetful(), ""
    for _ in range(20):
        try:
            ending = run(planner(), store)
        except Killed:
            continue
        if ending == "finished":
            break
        store.decide("approve")
    assert ending == "finished"
    assert [plan.version for plan in store.plans] == [1, 2]
    assert len(store.partials) == 6


def test_another_plan_in_the_same_place_is_reported() -> None:
    graph, store = planner(["Look", "Look elsewhere"]), MemoryStore()
    run(graph, store)
    store.decide("approve")
    with pytest.raises(ReplayDiverged):
        run(graph, store)


def test_a_plan_that_a_person_restored_is_not_written_over() -> None:
    store = MemoryStore()
    run(planner(), store)
    store.plans.append(Plan(version=2, steps=(LOOK,), assumptions={}))
    store.decide("approve")
    with pytest.raises(PlanChanged):
        run(planner(), store)
    assert [plan.version for plan in store.plans] == [1, 2]
