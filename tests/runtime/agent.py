"""A small agent with a tool of each effect; what it did to the world is a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, GraphError, Scripted, ToolError, ToolRun, TryLater


class Note(BaseModel):
    text: str


class Ticket(BaseModel):
    order: str = "8812"
    amount: str = "10.00"
    said: str = ""
    paid: str = ""
    answer: str = ""
    steps: list[str] = []


@dataclass
class World:
    """What happened outside, and what to break: `breaks` maps a tool to what it raises, once.

    `before` maps it to what else happens in the meantime, each time.
    """

    done: list[tuple[str, str]] = field(default_factory=list)
    breaks: dict[str, list[BaseException]] = field(default_factory=dict)
    before: dict[str, Callable[[], object]] = field(default_factory=dict)
    models: int = 0
    usage: dict[str, int] = field(default_factory=dict)

    def act(self, tool: str, args: BaseModel, run: ToolRun) -> dict[str, Any]:
        self.meet(tool)
        self.done.append((tool, args.model_dump()["text"]))
        return {"did": args.model_dump()["text"], "attempt": run.attempt}

    def meet(self, what: str) -> None:
        if what in self.before:
            self.before[what]()
        for error in self.breaks.pop(what, []):
            raise error


class NewerTicket(Ticket):
    """What a later version of the agent keeps."""

    currency: str = "EUR"


class Priced(BaseModel):
    """A much later version: the amount is a number with its currency, and a name has changed."""

    order: str = "8812"
    price: Decimal = Decimal("10.00")
    currency: str
    said: str = ""
    paid: str = ""
    answer: str = ""
    steps: list[str] = []

    @property
    def amount(self) -> str:
        return str(self.price)


def with_currency(state: dict[str, Any]) -> dict[str, Any]:
    """From version 1 to 2."""
    return {**state, "currency": "EUR"}


def with_price(state: dict[str, Any]) -> dict[str, Any]:
    """From version 2 to 3: what 1→2 added has to be there."""
    assert state["currency"]
    return {"price": Decimal(state.pop("amount")), **state}


def make(world: World, state: type[Ticket] = Ticket, **typed: Any) -> Graph[Ticket]:
    """read → decide → pay → END, with a model call in between; `typed` is version and upgrades of the state."""

    def think(messages: list[dict[str, Any]]) -> dict[str, Any]:
        world.meet("model")
        world.models += 1
        said = {"role": "assistant", "content": f"pay {messages[-1]['content']}"}
        return said | ({"usage": world.usage} if world.usage else {})

    graph = Graph("payer", state, model=Scripted(think), result=lambda last: last.answer, **typed)

    @graph.tool("read", effect="read", tries=3)
    def read(args: Note, run: ToolRun) -> Any:
        """Reads."""
        return world.act("read", args, run)

    @graph.tool("mail", effect="idempotent", tries=2)
    def mail(args: Note, run: ToolRun) -> Any:
        """Mails."""
        return world.act("mail", args, run)

    @graph.tool("pay", effect="once")
    def pay(args: Note, run: ToolRun) -> Any:
        """Pays."""
        return world.act("pay", args, run)

    @graph.step(to=["refund", "give_up"])
    def look(state: Ticket, ctx: Context[Ticket]) -> str:
        state.steps.append("look")
        found = ctx.tool("read", {"text": state.order})
        state.said = ctx.model([{"role": "user", "content": state.amount}])["content"]
        return "refund" if found.ok else "give_up"

    @graph.step(to=[END])
    def refund(state: Ticket, ctx: Context[Ticket]) -> None:
        state.steps.append("refund")
        noted = ctx.record("stamp", lambda: len(world.done))
        paid = ctx.tool("pay", {"text": state.amount}, reason=state.said)
        ctx.tool("mail", {"text": "paid" if paid.ok else "sorry"})
        state.paid = paid.outcome
        state.answer = f"{paid.outcome} {paid.value and paid.value['did']} {noted} {paid.message}".strip()

    @graph.step(to=[END])
    def give_up(state: Ticket, ctx: Context[Ticket]) -> None:
        state.answer = "no such order"

    return graph


__all__ = ["GraphError", "NewerTicket", "Note", "Ticket", "ToolError", "TryLater", "World", "make"]
