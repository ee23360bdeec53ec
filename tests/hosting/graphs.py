"""The graph of the engine's tests as an agent of this installation; each test gets a new world."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from reviewhub_agents.runtime import END, Context, Graph

from tests.runtime import exact_agent
from tests.runtime.agent import NewerTicket, Priced, Ticket, World, make, with_currency, with_price

world = World()
payer = make(world)
newer_payer = make(world, NewerTicket)
basket = exact_agent.make()

first = make(world, Ticket, version=1)
second = make(world, NewerTicket, version=2, upgrades={1: with_currency})
third: Graph[Any] = make(world, Priced, version=3, upgrades={1: with_currency, 2: with_price})  # type: ignore[arg-type]
unable = make(world, NewerTicket, version=3, upgrades={1: with_currency})
unraised = make(world, NewerTicket, version=1)


napper = Graph("napper", Ticket)


@napper.step(to=[END])
def nap(state: Ticket, ctx: Context[Ticket]) -> None:
    """Sleeps for half an hour."""
    ctx.sleep_until(timedelta(minutes=30))
    state.answer = "rested"


def new_world() -> World:
    """Forgets what was done and what was to break."""
    world.done.clear()
    world.breaks.clear()
    world.before.clear()
    world.models = 0
    world.usage = {}
    return world
