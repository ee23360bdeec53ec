"""Hosted agents for `engine.py` whose steps are counted: each writes down when they began and ended, and where."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ToolRun

WENT_ON = Path(os.environ.get("BENCH_WENT_ON", "."))
"""Gets a file for each run, with a line for each beginning and each end of a step, and one for each effect."""
FOR_EVER = 3600.0


class Message(BaseModel):
    """One turn of a conversation."""

    role: str
    content: str


class Talk(BaseModel):
    """A conversation of `begin` turns of `size` characters, which grows by one in each of `steps` steps."""

    name: str
    steps: int
    seconds: float
    begin: int = 0
    size: int = 1000
    pays: bool = False
    n: int = 0
    messages: list[Message] = []


class Count(BaseModel):
    """So many steps; the first time step `stops_in` begins, it does not end."""

    name: str
    steps: int
    seconds: float = 0.0
    stops_in: int = 0
    n: int = 0


class Own(BaseModel):
    """What one of many runs was given, and what it made of it."""

    name: str
    secret: str
    steps: int
    trail: list[str] = []
    n: int = 0


class Paid(BaseModel):
    """For which run and step."""

    name: str
    n: int


def note(name: str, what: str, n: int = 0) -> None:
    """A line of a run's file: what, which step, the wall clock, the process."""
    with (WENT_ON / name).open("a") as book:
        book.write(f"{what} {n} {time.time()!r} {os.getpid()}\n")


def follows(secret: str, n: int) -> str:
    """What step `n` makes of a run's secret."""
    return hashlib.sha256(f"{secret}/{n}".encode()).hexdigest()


def _talk(name: str, checkpoints: str) -> Graph[Talk]:
    graph = Graph(name, Talk, version=1, checkpoints=checkpoints)

    @graph.tool("bench.pay", effect="once")
    def pay(args: Paid, run: ToolRun) -> str:
        """Nothing but a line."""
        note(args.name, "effect", args.n)
        return "done"

    @graph.step(to=["work"])
    def fill(state: Talk, ctx: Context[Talk]) -> None:
        """The conversation so far."""
        state.messages = [turn(at, state.size) for at in range(state.begin)]

    @graph.step(to=["work", END])
    def work(state: Talk, ctx: Context[Talk]) -> str:
        """Waits, as for a model, and keeps what it said."""
        state.n += 1
        note(state.name, "began", state.n)
        time.sleep(state.seconds)
        note(state.name, "ended", state.n)
        if state.pays:
            ctx.tool("bench.pay", {"name": state.name, "n": state.n})
        state.messages.append(turn(state.begin + state.n, state.size))
        return END if state.n == state.steps else "work"

    return graph


def turn(at: int, size: int) -> Message:
    """A message of so many characters, unlike the others."""
    words = " ".join(hashlib.sha256(f"{at}/{part}".encode()).hexdigest()[:7] for part in range(size // 8))
    return Message(role="assistant" if at % 2 else "user", content=words)


def _count(name: str, checkpoints: str, milestone: int) -> Graph[Count]:
    graph = Graph(name, Count, version=1, checkpoints=checkpoints)

    @graph.step(to=["work", END])
    def work(state: Count, ctx: Context[Count]) -> str:
        """One more, and a milestone where one is due."""
        state.n += 1
        begins_again = state.n in started(state.name)
        note(state.name, "began", state.n)
        time.sleep(FOR_EVER if state.n == state.stops_in and not begins_again else state.seconds)
        if milestone and state.n % milestone == 0 and state.n < state.steps:
            ctx.checkpoint()
        return END if state.n == state.steps else "work"

    return graph


def started(name: str) -> list[int]:
    """Which steps of a run began, in order, again and again."""
    path = WENT_ON / name
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("began ")]


talk = _talk("talk", "every")
aside = _talk("aside", "async")
every = _count("every", "every", 0)
milestones = _count("milestones", "milestones", 5)
own = Graph("own", Own, version=1, checkpoints="every")


@own.tool("bench.own", effect="once")
def mine(args: Paid, run: ToolRun) -> str:
    """Nothing but a line in the run's own file."""
    note(args.name, "effect", args.n)
    return args.name


@own.step(to=["go", END])
def go(state: Own, ctx: Context[Own]) -> str:
    """Adds what follows from the secret; one call in the middle."""
    state.n += 1
    state.trail.append(follows(state.secret, state.n))
    if state.n == (state.steps + 1) // 2:
        state.trail.append(str(ctx.tool("bench.own", {"name": state.name, "n": state.n}).value))
    return END if state.n == state.steps else "go"
