"""The agents that workers of this installation can run: those named in the settings, and no others.

A name and never a path is stored with an agent, so nobody who may edit agents can make a worker import code.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from django.conf import settings
from reviewhub_agents.runtime import Graph, GraphError, StateError

from reviewhub.core.errors import Invalid


def graph_of(name: str) -> Graph[Any]:
    """The graph called `name`, put together and checked once per process.

    Raises:
        Invalid: this installation has no such graph.
        GraphError: it has, and it cannot work.
    """
    path = settings.HOSTED_GRAPHS.get(name)
    if path is None:
        known = ", ".join(sorted(settings.HOSTED_GRAPHS))
        raise Invalid.at("/graph", f"this installation has no graph {name!r}; it has: {known}")
    return _load(path)


def example_of(name: str) -> str:
    """An input that the graph called `name` takes as it is, as JSON text to change; `{}` when it has to be given.

    Raises:
        Invalid, GraphError: as `graph_of`.
    """
    states = graph_of(name).states
    try:
        return states.dump(states.first("{}"))
    except StateError:
        return "{}"


@cache
def _load(path: str) -> Graph[Any]:
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise GraphError(f"{path} cannot be loaded: {error}") from error
    if not isinstance(found, Graph):
        raise GraphError(f"{path} is no Graph")
    found.check()
    return found
