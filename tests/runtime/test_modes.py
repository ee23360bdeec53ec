"""When the state is saved, what a crash costs in each mode, and that a rebuilt state is the one that was."""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ReplayDiverged, Scripted, ToolRun, rebuild, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Snapshot

MODES = ["unit", "every", "milestones", "async", "events"]


class Killed(BaseException):
    """The process died here."""


class Count(BaseModel):
    n: int = 0
    seen: list[str] = []


class Args(BaseModel):
    n: int


@dataclass
class World:
    """What was done, and at which doing to die; `ends` are the states after each step, by its number."""

    done: Counter[str] = field(default_factory=Counter)
    die_at: int = -1
    paid: list[int] = field(default_factory=list)
    ends: dict[int, dict[str, Any]] = field(default_factory=dict)
    started: Counter[str] = field(default_factory=Counter)

    def act(self, what: str) -> None:
        if sum(self.done.values()) == self.die_at:
            self.die_at = -1
            raise Killed
        self.done[what] += 1


def make(
    world: World, mode: str, *, steps: int = 12, pays: int = 0, milestone: int = 0, every: int = 5
) -> Graph[Count]:
    """One step again and again: a model call each time, a payment each `pays` times, a milestone each `milestone`."""

    def think(messages: list[dict[str, Any]]) -> dict[str, Any]:
        world.act(f"model {messages[0]['content']}")
        return {"role": "assistant", "content": f"thought {messages[0]['content']}"}

    graph = Graph("counter", Count, model=Scripted(think), checkpoints=mode, snapshot_every=every)

    @graph.tool("pay", effect="once")
    def pay(args: Args, run: ToolRun) -> int:
        """Pays."""
        world.act(f"pay {args.n}")
        world.paid.append(args.n)
        return args.n * 100

    @graph.tool("read", effect="read")
    def read(args: Args, run: ToolRun) -> int:
        """Reads."""
        world.act(f"read {args.n}")
        return args.n

    @graph.step(to=["work", "mark", END])
    def work(state: Count, ctx: Context[Count]) -> str:
        world.started[str(state.n)] += 1
        state.seen.append(ctx.model([{"role": "user", "content": str(state.n)}])["content"])
        state.seen.append(str(ctx.tool("read", {"n": state.n}).value))
        if pays and state.n % pays == pays - 1:
            state.seen.append(str(ctx.tool("pay", {"n": state.n}).value))
        state.n += 1
        onward = END if state.n == steps else "work"
        return "mark" if milestone and state.n % milestone == 0 and onward != END else onward

    @graph.step(to=["work"], milestone=True)
    def mark(state: Count, ctx: Context[Count]) -> None:
        """Saved, so that nothing before it is done again."""

    return graph


def allowed(proposal: Any) -> str:
    return "allowed"


def kill_and_finish(graph: Graph[Count], store: MemoryStore) -> None:
    """Runs it to the end, each time from what the process before left; a person knows that nothing was paid twice."""
    for _ in range(5):
        try:
            ending = run(graph, store)
        except Killed:
            continue
        if ending == "finished":
            return
        store.decide("did_not_happen")
    pytest.fail("it never ended")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("die_at", [0, 1, 7, 17, 29])
def test_killed_anywhere_it_comes_to_the_same_end_and_does_nothing_twice(mode: str, die_at: int) -> None:
    world, calm = World(die_at=die_at), World()
    expected, store = MemoryStore(policy=allowed), MemoryStore(policy=allowed)
    run(make(calm, mode, pays=3), expected)
    kill_and_finish(make(world, mode, pays=3), store)
    assert store.result == expected.result
    assert world.paid == [2, 5, 8, 11]
    # Results are found again: no model was asked and nothing read or paid a second time.
    assert set(world.done.values()) == {1}


@pytest.mark.parametrize(
    ("mode", "pays", "milestone", "saved"),
    [
        ("every", 0, 0, 13),
        ("async", 0, 0, 13),
        ("unit", 0, 0, 13),
        ("milestones", 0, 4, 1 + 2 + 1),
        ("events", 0, 0, 1 + 2 + 1),
    ],
)
def test_how_often_the_state_is_saved(mode: str, pays: int, milestone: int, saved: int) -> None:
    store = MemoryStore(policy=allowed)
    run(make(World(), mode, pays=pays, milestone=milestone), store)
    steps = [one.step for one in store.snapshots]
    assert len(steps) == saved
    assert steps == sorted(set(steps))
    assert store.snapshots[-1].node == END


def test_a_step_that_only_asked_the_model_is_no_unit() -> None:
    graph = Graph("thinker", Count, model=Scripted(lambda messages: {"content": "hm"}))

    @graph.step(to=["think", END])
    def think(state: Count, ctx: Context[Count]) -> str:
        state.seen.append(ctx.model([{"content": str(state.n)}])["content"])
        state.n += 1
        return END if state.n == 6 else "think"

    store = MemoryStore()
    run(graph, store)
    assert [one.step for one in store.snapshots] == [0, 6]


def test_a_save_that_is_due_goes_into_the_commit_of_the_next_pause() -> None:
    graph, saves = Graph("payer", Count), list[int]()

    @graph.tool("pay", effect="once")
    def pay(args: Args, run: ToolRun) -> None:
        """Pays."""

    @graph.step(to=["work", END])
    def work(state: Count, ctx: Context[Count]) -> str:
        ctx.tool("pay", {"n": state.n})
        state.n += 1
        return END if state.n == 4 else "work"

    store = MemoryStore(policy=allowed)
    saving = store.save

    def save(**given: Any) -> Snapshot:
        saves.append(given["step"])
        return saving(**given)

    store.save = save  # type: ignore[method-assign]
    run(graph, store)
    assert [one.step for one in store.snapshots] == [0, 1, 2, 3, 4]
    assert saves == [0, 4]


def test_killed_in_step_14_of_20_it_begins_with_13() -> None:
    world, store = World(die_at=13 * 2), MemoryStore(policy=allowed)
    graph = make(world, "every", steps=20)
    with pytest.raises(Killed):
        run(graph, store)
    assert store.load().snapshot == store.snapshots[-1]
    assert store.snapshots[-1].step == 13
    run(graph, store)
    assert [n for n, times in world.started.items() if times > 1] == ["13"]


@pytest.mark.parametrize("die_at", [8, 41, 55, 89])
def test_45_steps_with_a_milestone_each_5_begin_again_at_most_5(die_at: int) -> None:
    world, store = World(die_at=die_at), MemoryStore(policy=allowed)
    kill_and_finish(make(world, "milestones", steps=45, milestone=5), store)
    assert 0 < sum(times - 1 for times in world.started.values()) <= 5
    assert set(world.done.values()) == {1}


class Slow(MemoryStore):
    """Saves when it is told to, and writes down in which order things happen."""

    order: list[str]
    gate: threading.Event

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        if step:
            self.gate.wait(5)
        self.order.append(f"saved {step}")
        return super().save(node=node, step=step, state=state)

    def pause(self, **given: Any) -> Any:
        self.order.append(f"asked at {given['snapshot'].step}")
        return super().pause(**given)


def slow() -> Slow:
    store = Slow(policy=allowed)
    store.order, store.gate = [], threading.Event()
    return store


def test_asynchronous_saves_are_at_most_one_step_behind_and_never_ahead_of_a_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="reviewhub_agents.agent")
    store, began = slow(), list[int]()
    graph = Graph("fast", Count, checkpoints="async")

    @graph.tool("pay", effect="once")
    def pay(args: Args, run: ToolRun) -> None:
        """Pays."""

    @graph.step(to=["work", END])
    def work(state: Count, ctx: Context[Count]) -> str:
        began.append(state.n)
        if state.n < 2:
            ctx.log("begun")
        store.order.append(f"began {state.n}")
        if state.n == 1:
            store.gate.set()
        if state.n == 3:
            ctx.tool("pay", {"n": 1})
        state.n += 1
        return END if state.n == 5 else "work"

    assert run(graph, store) == "finished"
    # Step 1 began before the save of its beginning was through; step 2 only after that.
    assert store.order.index("began 1") < store.order.index("saved 1") < store.order.index("began 2")
    assert store.order.index("saved 3") < store.order.index("asked at 3")
    assert [one.step for one in store.snapshots] == [0, 1, 2, 3, 4, 5]
    assert [one.behind for one in caplog.records] == [0, 1]  # type: ignore[attr-defined]


def test_an_asynchronous_save_that_fails_is_not_lost() -> None:
    store = MemoryStore(policy=allowed)
    graph = make(World(), "async")
    saving = store.save

    def save(**given: Any) -> Snapshot:
        if given["step"] == 3:
            raise OSError("disk full")
        return saving(**given)

    store.save = save  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk full"):
        run(graph, store)
    assert store.snapshots[-1].step == 2


@pytest.mark.parametrize("seed", range(12))
def test_every_rebuilt_state_is_the_one_that_was_saved(seed: int) -> None:
    """Property: whatever the agent, an event-sourced one rebuilds each state that one of every step saves."""
    draw = random.Random(seed)  # noqa: S311
    shape: Any = {
        "steps": draw.randint(1, 18),
        "pays": draw.choice([0, 1, 2, 5]),
        "milestone": draw.choice([0, 0, 3, 4]),
        "every": draw.randint(1, 9),
    }
    saved, log = MemoryStore(policy=allowed), MemoryStore(policy=allowed)
    run(make(World(), "every", **shape), saved)
    world = World(die_at=draw.randint(0, 2 * shape["steps"]))
    graph = make(world, "events", **shape)
    kill_and_finish(graph, log)
    done = world.done.copy()
    for one in saved.snapshots:
        state = rebuild(graph, log, one.step)
        assert graph.states.dump(state) == one.state, one.step
    assert world.done == done  # to rebuild is to do nothing
    assert len(log.snapshots) <= len(saved.snapshots)


def test_what_never_was_cannot_be_rebuilt() -> None:
    store = MemoryStore(policy=lambda proposal: "waiting" if proposal.effect == "once" else "allowed")
    graph = make(World(), "events", pays=4)
    assert run(graph, store) == "paused"
    assert rebuild(graph, store, 3).n == 3
    with pytest.raises(ReplayDiverged, match="waits in step 3"):
        rebuild(graph, store, 4)
    while store.waiting():
        store.decide("reject")
        run(graph, store)
    with pytest.raises(ReplayDiverged, match="ended"):
        rebuild(graph, store, 99)


def test_other_code_does_not_rebuild_another_state_in_silence() -> None:
    store = MemoryStore(policy=allowed)
    run(make(World(), "events"), store)
    other = make(World(), "events")
    keeping = other.steps["work"].function

    def work(state: Count, ctx: Any) -> Any:
        said = keeping(state, ctx)
        state.seen.append("and more")
        return said

    object.__setattr__(other.steps["work"], "function", work)
    with pytest.raises(ReplayDiverged, match="otherwise"):
        rebuild(other, store, 3)


def test_the_state_at_the_step_is_what_people_see_at_a_pause_in_every_mode() -> None:
    for mode in MODES:
        store = MemoryStore(policy=lambda proposal: "waiting" if proposal.effect == "once" else "allowed")
        assert run(make(World(), mode, pays=4), store) == "paused"
        assert (mode, store.snapshots[-1].step, '"n":3' in store.snapshots[-1].state) == (mode, 3, True)
