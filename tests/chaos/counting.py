"""Hosted agents that write down which of their steps begin, and where; one makes something of its own secret."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from pydantic import BaseModel
from reviewhub_agents.demos.support_shop import folder
from reviewhub_agents.runtime import END, Context, Graph, ToolRun

FOR_EVER = 600.0


class Count(BaseModel):
    """So many steps; the first time step `stops_in` begins, it does not end."""

    name: str
    steps: int
    stops_in: int
    n: int = 0


class Own(BaseModel):
    """What one of many runs was given, and what it made of it."""

    name: str
    secret: str
    trail: list[str] = []


class Made(BaseModel):
    """What a run asks for: something of its own."""

    name: str
    made: str


def begun(name: str) -> list[tuple[int, int]]:
    """Which steps of a run began, in order, each with its process."""
    path = Path(folder()) / f"steps-{name}"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(n), int(pid)) for n, pid in (line.split() for line in lines)]


def follows(secret: str, n: int) -> str:
    """What is made of a secret."""
    return hashlib.sha256(f"{secret}/{n}".encode()).hexdigest()


def _count(name: str, checkpoints: str, milestone: int = 0) -> Graph[Count]:
    graph = Graph(name, Count, checkpoints=checkpoints)

    @graph.step(to=["work", END])
    def work(state: Count, ctx: Context[Count]) -> str:
        """One more, and a milestone where one is due."""
        state.n += 1
        stops = state.n == state.stops_in and all(n != state.n for n, _ in begun(state.name))
        with (Path(folder()) / f"steps-{state.name}").open("a") as book:
            book.write(f"{state.n} {os.getpid()}\n")
        if stops:
            time.sleep(FOR_EVER)
        if milestone and state.n % milestone == 0 and state.n < state.steps:
            ctx.checkpoint()
        return END if state.n == state.steps else "work"

    return graph


every = _count("every", "every")
milestones = _count("milestones", "milestones", 5)
own = Graph("own", Own, checkpoints="every")


@own.tool("own.keep", effect="once")
def keep(args: Made, run: ToolRun) -> str:
    """A line in the run's own file."""
    with (Path(folder()) / f"own-{args.name}").open("a") as book:
        book.write(f"{args.made}\n")
    return args.made


@own.step(to=["ask"])
def make(state: Own, ctx: Context[Own]) -> None:
    """Before people are asked."""
    state.trail.append(follows(state.secret, 1))


@own.step(to=["end_with"])
def ask(state: Own, ctx: Context[Own]) -> None:
    """What was made, once somebody agrees."""
    result = ctx.tool("own.keep", {"name": state.name, "made": state.trail[-1]}, reason="It is its own.")
    state.trail.append(str(result.value))


@own.step(to=[END])
def end_with(state: Own, ctx: Context[Own]) -> None:
    """After people were asked."""
    state.trail.append(follows(state.secret, 2))
