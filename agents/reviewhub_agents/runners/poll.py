"""Runs a graph in a process of its author's: starts runs, and goes on with those that people have answered."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from reviewhub_agents import wire
from reviewhub_agents.client import Client
from reviewhub_agents.runners.http import HttpStore
from reviewhub_agents.runtime import Ending, Fenced, Graph, run
from reviewhub_agents.runtime.pulse import BEATS, next_beat

S = TypeVar("S", bound=BaseModel)
logger = logging.getLogger(__name__)
BEAT_SECONDS = 20.0


def register(client: Client, graph: Graph[S]) -> None:
    """Tells the hub of the graph's tools: their arguments, effects and limits. Raises GraphError for a bad graph."""
    graph.check()
    for warning in graph.warnings():
        logger.warning("%s", warning)
    for tool in graph.every_tool().values():
        client.register_tool(
            tool.name,
            wire.ToolRegister.from_tree(tool.describe()),
        )


def run_on(client: Client, graph: Graph[S], run_id: UUID, *, branch: str = "main", owner: str = "") -> Ending:
    """Runs one branch, of this agent or one of its children, until it waits for people or ends.

    Raises:
        Fenced: another process has it.
        Exception: whatever a step raised; the branch stays at its last snapshot, and may be run on again.
    """
    store = HttpStore(client, run_id, branch=branch, owner=owner)
    with _beating(store):
        return run(graph.named(store.graph), store)


def go_on(client: Client, graph: Graph[S], *, wait: float = 30.0, owner: str = "") -> int:
    """Runs on whatever this agent may go on with, waiting up to `wait` seconds for something; how many that were.

    A timer that runs out meanwhile is seen when that wait is over.
    """
    found = client.resumptions(wait=wait).items
    for item in found:
        try:
            run_on(client, graph, item.run, branch=item.branch_name, owner=owner)
        except Fenced as fenced:
            logger.info("run %s is somebody else's: %s", item.run, fenced)
    return len(found)


@contextmanager
def _beating(store: HttpStore) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(store.heartbeat, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(heartbeat: Callable[[], None], stop: threading.Event) -> None:
    failed = 0
    while not stop.wait(_pause(failed)):
        try:
            heartbeat()
            failed = 0
        except Fenced:
            return
        except Exception:
            failed += 1
            logger.warning("no heartbeat, trying again", exc_info=True)


def _pause(failed: int) -> float:
    # Chance and no secret: it only spreads the tries.
    return next_beat(lease=BEATS * BEAT_SECONDS, failed=failed, draw=random.random())  # noqa: S311
