"""For the tests of an agent's author: is a tool what it is declared to be?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from reviewhub_agents import canonical

from .graph import Graph
from .loop import Loop
from .resources import Opened
from .tools import ToolRun


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
