"""A hosted agent that sleeps, asks people, works for longer than a lease, and sleeps again."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ToolRun

from tests.chaos.slow import Work, do

NAP = timedelta(seconds=3)


class Day(BaseModel):
    """What became of the work."""

    outcome: str = ""


drowsy = Graph("drowsy", Day)


@drowsy.tool("drowsy.work", effect="once")
def work(given: Work, run: ToolRun) -> str:
    """Must not happen twice."""
    return do(given, run)


@drowsy.step(to=["act"])
def nap(state: Day, ctx: Context[Day]) -> None:
    """Some seconds, from now on."""
    ctx.sleep_until(NAP)


@drowsy.step(to=["nap_again"])
def act(state: Day, ctx: Context[Day]) -> None:
    """After somebody said yes."""
    state.outcome = ctx.tool("drowsy.work", {"number": 1, "seconds": 5.0}, reason="It is time.").outcome


@drowsy.step(to=[END])
def nap_again(state: Day, ctx: Context[Day]) -> None:
    """The same again."""
    ctx.sleep_until(NAP)
