"""A hosted agent with real effects in a small shop: it reads orders, refunds, changes addresses, writes e-mails.

Think, act, think again, until the model has nothing more to do. Every step ends in a checkpoint; a refund and a new
address wait for people. No key is needed: the model is a few rules (`support_model`), unless a real one is named.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import support_model, support_shop
from reviewhub_agents.demos.model import chosen
from reviewhub_agents.runtime import END, Context, Graph, ToolError, ToolResult, ToolRun
from reviewhub_agents.runtime.models import Message

Money = Annotated[str, Field(pattern=r"^[0-9]{1,7}(\.[0-9]{2})?$", examples=["59.00"])]
OrderId = Annotated[str, Field(pattern=r"^[0-9]{4}$")]


class ReadOrder(BaseModel):
    """Which order."""

    order_id: OrderId


class Refund(BaseModel):
    """How much of which order to pay back."""

    order_id: OrderId
    amount: Money


class Move(BaseModel):
    """Where an order should go instead."""

    order_id: OrderId
    address: Annotated[str, Field(min_length=1, max_length=200)]


class SendMail(BaseModel):
    """An e-mail to a customer."""

    to: Annotated[str, Field(max_length=200)]
    subject: Annotated[str, Field(max_length=200)]
    body: Annotated[str, Field(max_length=5000)]


class Ticket(BaseModel):
    """What the agent knows: the customer's wish, the conversation so far and the order."""

    wish: str = "Order 8812 arrived with a crushed corner. I want my money back."
    messages: list[Message] = []
    order: dict[str, str] | None = None


SAYS = (
    "You answer customers of a small shop. Look the order up first. Refund what arrived damaged, a fifth of the price "
    "for what was late; change the address of what has not arrived. Then write one e-mail to the customer and end with "
    "one line about what was done. Every tool may be refused or changed by people: its result says so."
)

support: Graph[Ticket] = Graph(
    "support",
    Ticket,
    version=1,
    description="Answers customers of a small shop: looks orders up, refunds, changes addresses, writes e-mails.",
    model=chosen(support_model.answer, tools=lambda: support.tools.values(), says=SAYS),
    result=lambda last: last.messages[-1]["content"],
)


@support.step(to=["act", END])
def think(state: Ticket, ctx: Context[Ticket]) -> str:
    """Asks the model what to do next."""
    if not state.messages:
        state.messages = [{"role": "user", "content": state.wish}]
    said = ctx.model(state.messages)
    state.messages.append(said)
    return "act" if said.get("tool_calls") else END


@support.step(to=["think"])
def act(state: Ticket, ctx: Context[Ticket]) -> None:
    """Does what the model asked for, as far as it is allowed, and tells it what became of it."""
    for call in state.messages[-1]["tool_calls"]:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        reason = arguments.pop("reason", "")
        result = ctx.tool(name, arguments, reason=reason, checks=_checks(name, arguments, state))
        if name == "shop.read_order" and result.ok:
            state.order = result.value
        content = json.dumps(_told(result))
        state.messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": content})


@support.tool("shop.read_order", effect="read", time_limit=30, tries=3, result=dict[str, str])
def read_order(args: ReadOrder, run: ToolRun) -> dict[str, str]:
    """Looks an order up."""
    try:
        return asdict(support_shop.order(args.order_id))
    except support_shop.NoSuchOrder as error:
        raise ToolError(str(error)) from error


@support.tool(
    "shop.refund", effect="once", time_limit=60, sentence="Refund ${amount:money} to order {order_id}"
)
def refund(args: Refund, run: ToolRun) -> dict[str, Any]:
    """Pays money back to the customer. Cannot be taken back, and pays again each time it runs."""
    amount = Decimal(args.amount)
    payment = support_shop.refund(number=args.order_id, amount=amount, key=run.idempotency_key)
    return {"payment": payment, "amount": f"{amount:.2f}"}


@support.tool(
    "shop.move", effect="idempotent", time_limit=60, tries=3, sentence="Send order {order_id} to {address}"
)
def move(args: Move, run: ToolRun) -> dict[str, str]:
    """Changes the address of an order that has not arrived. To change it to the same again does nothing."""
    try:
        before = support_shop.move(number=args.order_id, address=args.address)
    except (support_shop.NoSuchOrder, support_shop.OnItsWay) as error:
        raise ToolError(str(error)) from error
    return {"before": before, "address": args.address}


@support.tool("mail.send", effect="idempotent", time_limit=60, tries=3, sentence="E-mail to {to}: {subject}")
def send_mail(args: SendMail, run: ToolRun) -> dict[str, Any]:
    """Puts an e-mail to a customer into the mailbox folder, once however often it is tried."""
    new = support_shop.send(recipient=args.to, subject=args.subject, body=args.body, key=run.idempotency_key)
    return {"sent": True, "new": new}


def _checks(name: str, arguments: dict[str, Any], state: Ticket) -> list[dict[str, str]]:
    if name != "shop.refund" or state.order is None:
        return []
    paid = Decimal(state.order["paid"])
    fits = Decimal(arguments["amount"]) <= paid
    return [
        {
            "name": "Amount is at most the price paid",
            "status": "passed" if fits else "failed",
            "detail": f"{arguments['amount']} of {paid}",
        }
    ]


def _told(result: ToolResult) -> dict[str, Any]:
    """What the model hears: exactly one result for each call, also when nothing ran."""
    return {
        "outcome": result.outcome,
        "result": result.value,
        "message": result.error or result.message,
        "note": result.model_text,
    }
