"""A hosted agent that drafts letters to old customers, one after the other. Nobody waits for a draft: a rule observes
them, and a sample is looked at afterwards.

Its template has a fault that somebody may find then: it promises some of them a discount that the shop does not give.
A flag on such a draft may make a corrective branch, which goes on from the checkpoint before it; with another
`discount` in its state it writes that draft and those after it anew, each over the one of before.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import outreach_book
from reviewhub_agents.runtime import END, Context, Graph, ToolRun

Number = Annotated[int, Field(ge=1, le=outreach_book.CUSTOMERS)]
Percent = Annotated[int, Field(ge=0, le=90)]


class ReadCustomer(BaseModel):
    """Which customer."""

    number: Number


class DraftMail(BaseModel):
    """A letter, and to whom."""

    to: Annotated[str, Field(max_length=200)]
    subject: Annotated[str, Field(max_length=200)]
    body: Annotated[str, Field(max_length=5000)]


class Campaign(BaseModel):
    """How far it is, and what it promises to those who have not bought for a long time."""

    customers: Number = outreach_book.CUSTOMERS
    discount: Percent = 50
    done: int = 0
    result: str = ""


outreach = Graph(
    "outreach",
    Campaign,
    version=1,
    description="Drafts a letter to each customer who has not bought for a while. It sends nothing.",
    result=lambda last: last.result,
)


@outreach.step(to=["write", END], milestone=True)
def write(state: Campaign, ctx: Context[Campaign]) -> str:
    """One customer: read, write, and put the draft into the mailbox."""
    number = state.done + 1
    customer = ctx.tool("crm.customer", {"number": number}).value
    letter = outreach_book.letter(customer, discount=state.discount)
    reason = f"{customer['name']} bought last {customer['months']} months ago."
    ctx.tool("mail.draft", letter, reason=reason)
    state.done = number
    if number < state.customers:
        return "write"
    state.result = f"{number} drafts are in the mailbox; nothing was sent."
    return END


@outreach.tool("crm.customer", effect="read", time_limit=30, tries=3)
def read_customer(args: ReadCustomer, run: ToolRun) -> dict[str, Any]:
    """Looks a customer up."""
    return outreach_book.customer(args.number)


@outreach.tool("mail.draft", effect="idempotent", time_limit=30, tries=3, sentence="Draft to {to}: {subject}")
def draft_mail(args: DraftMail, run: ToolRun) -> dict[str, Any]:
    """Puts a draft into the mailbox folder, over an older one to the same customer. Nothing is sent."""
    outreach_book.draft(recipient=args.to, subject=args.subject, body=args.body)
    return {"drafted": True}
