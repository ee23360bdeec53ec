"""Runs a branch on, from its head until it waits or ends."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical

from .context import Context
from .errors import Paused, StateError
from .graph import END, Graph
from .store import Snapshot, Store

S = TypeVar("S", bound=BaseModel)
Ending = Literal["paused", "finished"]


def run(graph: Graph[S], store: Store) -> Ending:
    """Runs the branch that `store` keeps until it waits for people or is over.

    A step begins with exactly the saved state and, after a pause or a crash, from its top: what it did through its
    context is found again, all else it does again.

    Raises:
        Fenced: another process holds the branch by now; there is nothing left to do here.
        ReplayDiverged, StateError, GraphError: it would go the same way every time. Whether this code can read what is
            saved is asked before anything runs.
        Exception: whatever a step raised; the branch stays at its last snapshot.
    """
    loaded = store.load()
    if loaded.snapshot is not None:
        graph.states.check(loaded.snapshot.written_as)
    declaration = graph.states.declaration()
    if declaration is not None:
        store.declare(declaration)
    snapshot = loaded.snapshot or _first(graph, store, loaded.input)
    try:
        while snapshot.node != END:
            snapshot = _step(graph, store, snapshot)
    except Paused:
        return "paused"
    last = graph.states.load(snapshot.state, snapshot.written_as)
    store.finish(result=canonical.dumps(graph.result(last)))
    return "finished"


def _first(graph: Graph[S], store: Store, given: str) -> Snapshot:
    first = graph.states.first(given)
    return store.save(node=graph.start, step=0, state=graph.states.dump(first))


def _step(graph: Graph[S], store: Store, snapshot: Snapshot) -> Snapshot:
    step = graph.steps.get(snapshot.node)
    if step is None:
        raise StateError(f"this version of {graph.name} has no step {snapshot.node}")
    state = graph.states.load(snapshot.state, snapshot.written_as)
    context = Context(
        store=store,
        tools=graph.tools,
        model=graph.model,
        state=state,
        snapshot=snapshot,
        types=graph.types,
    )
    target = step.target(step.function(state, context))
    return context.save(node=target)
