"""The smallest hosted agent that asks: one gated call. Step and call write down when they began, for `hitl.py`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ToolRun

WENT_ON = Path(os.environ.get("BENCH_WENT_ON", "."))
"""Gets two files for each cycle: the wall clock in seconds when its call began, and (`.step`) when its step did."""


class Transfer(BaseModel):
    """What people are asked about."""

    cycle: str
    amount: str
    to: str
    note: str


class State(BaseModel):
    """Which cycle this is."""

    cycle: str = ""


gated = Graph("gated", State, version=1, description="Asks once, and says when it went on.")


@gated.tool("bench.transfer", effect="once")
def transfer(args: Transfer, run: ToolRun) -> str:
    """Nothing but the time."""
    (WENT_ON / args.cycle).write_text(repr(time.time()))
    return "done"


@gated.step(to=[END])
def act(state: State, ctx: Context[State]) -> None:
    """One call."""
    (WENT_ON / f"{state.cycle}.step").write_text(repr(time.time()))
    ctx.tool("bench.transfer", {"cycle": state.cycle, "amount": "10.00", "to": "acct", "note": "x" * 500})
