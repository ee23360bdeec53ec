"""A hosted agent with a long batch: 200 claims, one document and one checkpoint after the other, then one payment.

Each document takes minutes of simulated work; `speed` says how many of them pass in a minute (240: some seven hours in
under two minutes). Kill its worker wherever you like: it goes on with the document at which it was, and what it read
before is not read again. The payment at the end waits for people.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import claims_office
from reviewhub_agents.demos.claims_office import Verdict
from reviewhub_agents.runtime import END, Context, Graph, Scripted, ToolError, ToolRun

Number = Annotated[int, Field(ge=1, le=claims_office.DOCUMENTS)]


class ReadClaim(BaseModel):
    """Which document."""

    number: Number


class BookClaim(BaseModel):
    """What was decided about a document."""

    number: Number
    verdict: Verdict
    amount: str


class PayBatch(BaseModel):
    """A payment run: how many claims, and how much together."""

    claims: int
    total: str


class Batch(BaseModel):
    """How far the batch is: the next document, what was decided so far, and the sum to pay."""

    documents: Number = claims_office.DOCUMENTS
    speed: Annotated[float, Field(gt=0)] = 240.0
    done: int = 0
    payable: int = 0
    total: str = "0.00"
    unclear: list[int] = []
    result: str = ""


claims = Graph(
    "claims",
    Batch,
    version=1,
    description="Reads a batch of insurance claims, one checkpoint each, books them, and pays what is clear.",
    model=Scripted(claims_office.judge),
    result=lambda last: last.result,
)


@claims.step(to=["document", "pay"])
def document(state: Batch, ctx: Context[Batch]) -> str:
    """One document: read it, judge it, book the verdict."""
    number = state.done + 1
    read = ctx.tool("claims.read", {"number": number}).value
    said = ctx.model([{"role": "user", "content": read["text"]}])["content"]
    time.sleep(read["minutes"] * 60 / state.speed)
    verdict, amount = said.split()
    ctx.tool("claims.book", {"number": number, "verdict": verdict, "amount": amount})
    if verdict == "pay":
        state.payable += 1
        state.total = str(Decimal(state.total) + Decimal(amount))
    elif verdict == "unclear":
        state.unclear.append(number)
    state.done = number
    return "document" if number < state.documents else "pay"


@claims.step(to=[END])
def pay(state: Batch, ctx: Context[Batch]) -> None:
    """Pays all that is clear, in one go, when people agree."""
    check = {
        "name": "The books say the same sum",
        "status": "passed" if claims_office.payable(state.documents) == Decimal(state.total) else "failed",
        "detail": f"{state.payable} claims, {state.total}",
    }
    paid = ctx.tool("claims.pay", {"claims": state.payable, "total": state.total}, checks=[check])
    what = f"Paid {state.total} for {state.payable} claims" if paid.outcome == "done" else "Nothing was paid"
    state.result = f"{what}; {len(state.unclear)} of {state.documents} need a person."


@claims.tool("claims.read", effect="read", time_limit=30, tries=3)
def read_claim(args: ReadClaim, run: ToolRun) -> dict[str, Any]:
    """Reads one document."""
    found = claims_office.document(args.number)
    return {"text": found.text, "minutes": found.minutes}


@claims.tool("claims.book", effect="idempotent", time_limit=30, tries=3)
def book_claim(args: BookClaim, run: ToolRun) -> dict[str, Any]:
    """Books the verdict about a document; a second booking of the same changes nothing."""
    new = claims_office.book(args.number, verdict=args.verdict, amount=args.amount, key=run.idempotency_key)
    return {"new": new}


@claims.tool("claims.pay", effect="once", time_limit=60, sentence="Pay {total:money} for {claims} claims")
def pay_batch(args: PayBatch, run: ToolRun) -> dict[str, Any]:
    """Pays. Cannot be taken back, and pays again each time it runs."""
    if Decimal(args.total) <= 0:
        raise ToolError("there is nothing to pay")
    return {"payment": claims_office.pay(args.total, claims=args.claims, key=run.idempotency_key)}
