"""System checks: E003, a graph named in the settings cannot be loaded or cannot work; W001, one that may surprise."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks
from reviewhub_agents.runtime import GraphError

from reviewhub.hosting.graphs import graph_of


def register() -> None:
    """Called once by the hosting app."""
    checks.register(graphs_work)


def graphs_work(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Loads every graph: what is wrong with an agent is said at start and not at its step 40."""
    found: list[checks.CheckMessage] = []
    for name in settings.HOSTED_GRAPHS:
        try:
            graph = graph_of(name)
        except GraphError as error:
            found.append(checks.Error(f"hosted graph {name}: {error}", id="reviewhub.E003"))
        else:
            found += [checks.Warning(warning, id="reviewhub.W001") for warning in graph.warnings()]
    return found
