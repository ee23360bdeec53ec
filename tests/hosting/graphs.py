"""The graph of the engine's tests as an agent of this installation; each test gets a new world."""

from __future__ import annotations

from tests.runtime import exact_agent
from tests.runtime.agent import NewerTicket, World, make

world = World()
payer = make(world)
newer_payer = make(world, NewerTicket)
basket = exact_agent.make()


def new_world() -> World:
    """Forgets what was done and what was to break."""
    world.done.clear()
    world.breaks.clear()
    world.models = 0
    return world
