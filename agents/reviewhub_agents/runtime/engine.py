"""Runs a branch on, from its head until it waits or ends."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical

from .async_context import AsyncContext
from .calls import Calls
from .context import Context
from .errors import Paused, Refused, StateError
from .graph import Graph, Step
from .heads import END, Head
from .loop import Engine, Loop, alone
from .replay import Replay
from .resources import Opened
from .store import Snapshot, Store
from .work import Work

S = TypeVar("S", bound=BaseModel)
Ending = Literal["paused", "finished", "failed"]


def run(graph: Graph[S], store: Store) -> Ending:
    """Runs the branch that `store` keeps until it waits for people or is over (`failed`: they refused to let it go on).

    A step begins with exactly the state that the step before it left and, after a pause or a crash, the run goes on
    from what was saved last: what was done through the context is found again, all else is done again.

    Raises:
        Fenced: another process holds the branch by now; there is nothing left to do here.
        ReplayDiverged, StateError, GraphError: it would go the same way every time. Whether this code can read what is
            saved is asked before anything runs.
        Exception: whatever a step raised; the branch stays at its last snapshot.
    """
    try:
        snapshot, places = _beginning(graph, store)
        with ExitStack() as stack:
            work = begin(graph, store, snapshot, places, stack)
            last = go_through(graph, work)
        Context(work, last).finish(canonical.dumps(graph.result(last)))
    except Paused:
        return "paused"
    except Refused as refused:
        store.fail(error=str(refused))
        return "failed"
    return "finished"


def begin(graph: Graph[S], store: Store, snapshot: Snapshot, places: set[str], stack: ExitStack) -> Work[S]:
    """What a process needs to go on from a snapshot after which these places were recorded; `stack` closes it."""
    loop = stack.enter_context(Loop())
    resources = stack.enter_context(Opened(graph.resources, loop))
    head = Head(
        store,
        snapshot,
        mode=graph.checkpoints,
        snapshot_every=graph.snapshot_every,
        written_as=graph.states.written_as,
    )
    return Work(
        agent=graph.name,
        states=graph.states,
        tools=graph.tools,
        model=graph.model,
        store=store,
        head=stack.enter_context(head),
        replay=Replay(places),
        calls=Calls(store, graph.tools, resources, loop),
        resources=resources,
        loop=loop,
        replan=graph.replan,
        verifiers=graph.verifiers,
        children=graph.children,
    )


def go_through(graph: Graph[S], work: Work[S], *, until: int | None = None) -> S:
    """Runs step after step to the end, or to the beginning of step `until`; the state there."""
    while work.head.at.node != END and work.head.at.step != until:
        _step(graph, work)
    return graph.states.taken(work.head.at.state, work.head.at.written_as)


def _beginning(graph: Graph[S], store: Store) -> tuple[Snapshot, set[str]]:
    """What was saved last and where something was recorded since; the first state of a run that has none."""
    loaded = store.load()
    if loaded.snapshot is not None:
        graph.states.check(loaded.snapshot.written_as)
    declaration = graph.states.declaration()
    if declaration is not None:
        store.declare(declaration)
    if loaded.snapshot is None:
        return _first(graph, store, loaded.input), set()
    return loaded.snapshot, store.places(loaded.snapshot.step)


def _first(graph: Graph[S], store: Store, given: str) -> Snapshot:
    first = graph.states.first(given)
    return store.save(node=graph.start, step=0, state=graph.states.dump(first))


def _step(graph: Graph[S], work: Work[S]) -> None:
    at = work.head.at
    step = graph.steps.get(at.node)
    if step is None:
        raise StateError(f"this version of {graph.name} has no step {at.node}")
    state = graph.states.taken(at.state, at.written_as)
    Context(work, state).enter()
    if step.is_async:
        _awaited(step, state, work)
        return
    context = Context(work, state)
    said: Any = step.function(state, context)  # type: ignore[arg-type]
    context.arrive(node=context.onward(step.target(said)), milestone=step.milestone)


def _awaited(step: Step[S], state: S, work: Work[S]) -> None:
    engine = Engine()
    context = AsyncContext(work, state, engine)
    function: Any = step.function
    try:
        said = work.loop.run(alone(function(state, context)), engine=engine)
    except BaseExceptionGroup as group:
        # A task group wraps what one of its tasks raised; a pause is no error, wherever it happened.
        if group.subgroup(Paused) is not None:
            raise Paused from group
        raise
    context.arrive(node=context.onward(step.target(said)), milestone=step.milestone)
