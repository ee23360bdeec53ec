"""For the tests of an agent's author: is a tool what it is declared to be?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical

from .engine import Ending, run
from .graph import Graph
from .loop import Loop
from .memory import MemoryStore
from .resources import Opened
from .tools import ToolRun

S = TypeVar("S", bound=BaseModel)


def run_family(graph: Graph[S], store: MemoryStore) -> Ending:
    """Runs an agent and its child runs until all that is left waits for people, or for time; how the agent ended.

    People are played by `decide` of the stores: `store.children` has those of the children, by their handles.
    """
    if store.state == "sleeping":
        store.wake()
    ending = run(graph, store)
    while store.state == "sleeping":
        going = [child for child in store.children.values() if child.state == "running"]
        if not going:
            break
        for child in going:
            run_family(graph.named(child.graph), child)
        store.wake()
        ending = run(graph, store)
    return ending


def call_twice(
    graph: Graph[Any],
    tool: str,
    arguments: Mapping[str, Any],
    *,
    look: Callable[[], Any],
    key: str = "test-key",
) -> Any:
    """Calls an `idempotent` (or `read`) tool twice under one key, as the engine does after a crash, and compares.

    Args:
        look: says what the world looks like; asked after each call. Compared with `==`.

    Returns:
        The result, as JSON reads it.

    Raises:
        AssertionError: the second call changed the world, or gave another result.
        Exception: whatever the tool raised.
    """
    declared = graph.tools[tool]
    given = declared.arguments.model_validate(dict(arguments))
    seen: list[tuple[str, Any]] = []
    with Loop() as loop, Opened(graph.resources, loop) as resources:
        partial: list[Any] = [None]
        for attempt in (1, 2):
            run = ToolRun(
                idempotency_key=key,
                attempt=attempt,
                progress=partial.append,
                partial=partial[-1],
                use=resources.use,
            )
            said: Any = declared.run(given, run)
            result = loop.run(said) if inspect.iscoroutine(said) else said
            seen.append((canonical.dumps(result), look()))
    (first, world), (second, after) = seen
    if world != after:
        raise AssertionError(f"{tool} is no {declared.effect} tool: the world was {world!r} and is {after!r}")
    if first != second:
        raise AssertionError(f"{tool} gave {first} and then {second}")
    if misfit := declared.misfit(first):
        raise AssertionError(f"{tool} gave what it does not declare: {misfit}")
    return canonical.plain(canonical.reread(first))
