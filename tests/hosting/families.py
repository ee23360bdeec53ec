"""Agents with child runs for the tests: a desk that has two readers at work, one of which asks people."""

from __future__ import annotations

from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, PlanStep, ToolRun

DONE: list[str] = []
"""What the readers' tool did, in order."""


class Page(BaseModel):
    page: str = ""
    asks: bool = False
    text: str = ""


class Desk(BaseModel):
    pages: list[str] = ["a", "b!"]
    handles: list[str] = []
    own: str = ""
    texts: list[str] = []


class Note(BaseModel):
    text: str


reader = Graph("reader", Page)
desk = Graph("desk", Desk, checkpoints="every")
desk.child(reader)


@reader.tool("mail", effect="idempotent")
def mail(args: Note, run: ToolRun) -> str:
    """Sends a note."""
    DONE.append(args.text)
    return args.text


@reader.step(to=["read"])
def look(state: Page, ctx: Context[Page]) -> None:
    """Remembers something that costs."""
    state.text = ctx.record("look", lambda: f"seen {state.page}")


@reader.step(to=[END])
def read(state: Page, ctx: Context[Page]) -> None:
    """A page with a question mark waits for a person, one with a cross fails."""
    if "!" in state.page:
        said = ctx.gate("open", {"page": state.page})
        state.text += f", {said.outcome}"
    if "x" in state.page:
        raise ctx_error(state.page)
    ctx.tool("mail", {"text": state.page})


def ctx_error(page: str) -> Exception:
    """What a bad page raises."""
    return ValueError(f"no page {page}")


@desk.step(to=["work"])
def hand_out(state: Desk, ctx: Context[Desk]) -> None:
    """Starts a reader for each page and does not wait."""
    state.handles = [ctx.start_child("reader", {"page": page}, title=f"Page {page}") for page in state.pages]


@desk.step(to=["collect"])
def work(state: Desk, ctx: Context[Desk]) -> None:
    """Its own work goes on meanwhile."""
    state.own = "done"


@desk.step(to=[END])
def collect(state: Desk, ctx: Context[Desk]) -> None:
    """Waits for all of them."""
    ends = ctx.wait_for(state.handles)
    state.texts = [one.value["text"] if one.ok else f"{one.outcome}: {one.error}" for one in ends]


planner = Graph("planner", Page)


@planner.tool("pay", effect="once")
def pay_(args: Note, run: ToolRun) -> str:
    """Pays."""
    DONE.append(args.text)
    return args.text


@planner.step(to=["pay"])
def think(state: Page, ctx: Context[Page]) -> None:
    """Intends one step."""
    ctx.plan.write([PlanStep(id="pay", title="Pay")])


@planner.step(to=["beside"])
def pay(state: Page, ctx: Context[Page]) -> None:
    """What the plan is about."""
    state.text = ctx.tool("pay", {"text": "inside"}).outcome
    ctx.plan.mark("pay", "done")


@planner.step(to=[END])
def beside(state: Page, ctx: Context[Page]) -> None:
    """What it is not about."""
    state.text += ctx.tool("pay", {"text": "beside"}).outcome
