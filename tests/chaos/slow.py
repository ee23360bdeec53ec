"""A hosted agent whose tools take their time, in every way in which one may; starts and effects are lines in files."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from pydantic import BaseModel
from reviewhub_agents.demos.support_shop import folder
from reviewhub_agents.runtime import END, Ask, Context, Graph, ToolRun


class Work(BaseModel):
    """Which of several calls it is, how long it takes in seconds, and how it spends them."""

    number: int = 0
    seconds: float = 7.0
    how: str = "sleep"


class Shift(BaseModel):
    """What to do: `calls` of it in one turn, in a child run if `child`."""

    tool: str = "slow.once"
    calls: int = 1
    child: bool = False
    seconds: float = 7.0
    how: str = "sleep"
    outcomes: list[str] = []


slow = Graph("slow", Shift)
below = Graph("below", Shift)
slow.child(below)


def lines(what: str) -> list[str]:
    """What was written down: `starts`, or `effects`."""
    path = Path(folder()) / what
    return path.read_text().split() if path.exists() else []


def _note(what: str, words: str) -> None:
    with (Path(folder()) / what).open("a") as book:
        book.write(words + "\n")


def _spend(work: Work) -> None:
    until = time.monotonic() + work.seconds
    while time.monotonic() < until:
        if work.how == "sleep":
            time.sleep(0.05)
        else:
            # One operation that lets no other thread run for a second or so.
            pow(3, 5_000_000)


def do(work: Work, run: ToolRun) -> str:
    """Works for its time; a line when it starts, and one that is the effect."""
    _note("starts", str(os.getpid()))
    if work.how == "late":
        _note("effects", run.idempotency_key)
    _spend(work)
    if work.how == "progress":
        run.progress("half")
    if work.how != "late":
        _note("effects", run.idempotency_key)
    return run.idempotency_key


@below.tool("slow.once", effect="once")
@slow.tool("slow.once", effect="once")
def once(work: Work, run: ToolRun) -> str:
    """Must not happen twice; the effect comes at the end, `late` at the beginning."""
    return do(work, run)


@slow.tool("slow.limited", effect="once", time_limit=2)
def limited(work: Work, run: ToolRun) -> str:
    """Takes longer than it says."""
    return do(work, run)


@slow.tool("slow.again", effect="idempotent")
def again(work: Work, run: ToolRun) -> str:
    """May be repeated."""
    return do(work, run)


@slow.tool("slow.waits", effect="once")
async def waits(work: Work, run: ToolRun) -> str:
    """The same, asynchronous."""
    _note("starts", str(os.getpid()))
    await asyncio.sleep(work.seconds)
    _note("effects", run.idempotency_key)
    return run.idempotency_key


def _asks(state: Shift) -> list[Ask]:
    given = {"seconds": state.seconds, "how": state.how}
    return [Ask(tool=state.tool, arguments={"number": number, **given}) for number in range(state.calls)]


@slow.step(to=[END])
def act(state: Shift, ctx: Context[Shift]) -> None:
    """All in one turn, or through somebody below."""
    if state.child:
        ended = ctx.child("below", {**state.model_dump(), "child": False})
        state.outcomes = ["done" if ended.ok else ended.error]
    else:
        state.outcomes = [result.outcome for result in ctx.tools(_asks(state))]


@below.step(to=[END])
def act_below(state: Shift, ctx: Context[Shift]) -> None:
    """The same, as a child."""
    state.outcomes = [result.outcome for result in ctx.tools(_asks(state))]
