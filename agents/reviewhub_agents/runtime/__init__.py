"""The engine that hosted runs stand on: agents as typed graphs that survive anything and never act twice.

An agent is a `Graph`: a state (a pydantic model), steps (plain functions) and declared edges. A step gets the state
and a `Context`; everything it does to the world goes through the context, so that a step that starts again after a
pause or a crash finds what it already did:

* `ctx.tool(…)` asks for a tool call, waits for the answer if people have to give one, and runs the tool once;
* `ctx.gate(…)` and `ctx.ask_person(…)` ask people without running anything;
* `ctx.model(…)` and `ctx.record(…)` keep a result and give the kept one to a replay;
* `ctx.plan` writes what the agent intends, in versions, and how far it is;
* `ctx.child(…)`, `ctx.start_child(…)` and `ctx.wait_for(…)` run other agents beside this one;
* `ctx.sleep_until(…)` gives the branch up until then; `ctx.log(…)` writes to the log and not to the state;
* `ctx.fit(…)` makes a shorter prompt of a long conversation;
* `ctx.checkpoint()` saves the state inside a step; `Checkpoints` says when it is saved otherwise.

What no state can hold (connections, files, clients) is a declared `Resource`, `ctx.use(…)`.

The engine knows neither Django nor HTTP: it talks to a `Store`.
"""

from .async_context import AsyncContext
from .children import ChildResult
from .context import Context
from .engine import Ending, run
from .errors import (
    ContextOverflow,
    Fenced,
    GraphError,
    PlanChanged,
    PlanRefused,
    Refused,
    ReplayDiverged,
    StateError,
    ToolError,
    TryLater,
)
from .graph import Graph
from .heads import END
from .models import Model, Scripted
from .modes import Checkpoints
from .places import Ask
from .rebuild import rebuild
from .replan import Replan, Why
from .resources import Resource
from .results import ToolResult
from .states import StateType, Upgrade
from .store import Plan, PlanStep
from .tools import Tool, ToolRun
from .verifiers import Judged, Opinion, by_model

__all__ = [
    "END",
    "Ask",
    "AsyncContext",
    "Checkpoints",
    "ChildResult",
    "Context",
    "ContextOverflow",
    "Ending",
    "Fenced",
    "Graph",
    "GraphError",
    "Judged",
    "Model",
    "Opinion",
    "Plan",
    "PlanChanged",
    "PlanRefused",
    "PlanStep",
    "Refused",
    "Replan",
    "ReplayDiverged",
    "Resource",
    "Scripted",
    "StateError",
    "StateType",
    "Tool",
    "ToolError",
    "ToolResult",
    "ToolRun",
    "TryLater",
    "Upgrade",
    "Why",
    "by_model",
    "rebuild",
    "run",
]
