"""A hosted agent with a long batch: 200 claims, one document and one checkpoint after the other, then one payment.

Each document takes minutes of simulated work; `speed` says how many of them pass in a minute (240: some seven hours in
under two minutes). Kill its worker wherever you like: it goes on with the document at which it was, and what it read
before is not read again. Its plan assumes that few claims are unclear; after twenty documents a verifier finds out that
this does not hold, and it plans anew. The second plan waits for people, and so does the payment at the end.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import claims_office
from reviewhub_agents.demos.claims_office import Verdict
from reviewhub_agents.runtime import (
    END,
    Context,
    Graph,
    Judged,
    Opinion,
    PlanRefused,
    PlanStep,
    Replan,
    Scripted,
    ToolError,
    ToolRun,
)

FEW = "At most a quarter of the claims are unclear"
ENOUGH = 20
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
    """A payment run: how many claims of how many documents, and how much together."""

    documents: Number
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
    replan=Replan(to="plan"),
)


@claims.step(to=["document", "pay", END])
def plan(state: Batch, ctx: Context[Batch]) -> str:
    """What it is going to do; once more when it comes out that too many claims are unclear."""
    why = ctx.plan.why()
    steps = [
        PlanStep(id="document", title=f"Read, judge and book {state.documents} claims"),
        PlanStep(id="pay", title="Pay what is clear, in one go"),
    ]
    if why is not None:
        steps.insert(1, PlanStep(id="unclear", title="Leave what is unclear to a person"))
    try:
        ctx.plan.write(steps, assumptions={} if why else {"few": FEW}, why=why)
    except PlanRefused as refused:
        state.result = f"Stopped after {state.done} of {state.documents} documents. {refused}"
        return END
    return "document" if state.done < state.documents else "pay"


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
    if number in (1, state.documents):
        ctx.plan.mark("document", "running" if number < state.documents else "done")
    return "document" if number < state.documents else "pay"


@claims.step(to=[END])
def pay(state: Batch, ctx: Context[Batch]) -> None:
    """Pays all that is clear, in one go, when people agree."""
    intended = ctx.plan.now()
    if intended is not None and any(step.id == "unclear" for step in intended.steps):
        ctx.plan.mark("unclear", "done", f"{len(state.unclear)} claims")
    batch = {"documents": state.documents, "claims": state.payable, "total": state.total}
    paid = ctx.tool("claims.pay", batch)
    ctx.plan.mark("pay", "done" if paid.outcome == "done" else "skipped", paid.message)
    what = f"Paid {state.total} for {state.payable} claims" if paid.outcome == "done" else "Nothing was paid"
    state.result = f"{what}; {len(state.unclear)} of {state.documents} need a person."


@claims.verifier("The books say the same sum", of="claims.pay")
def same_sum(judged: Judged) -> Opinion:
    """Adds up what the documents come to, and not what the agent has in mind."""
    last = judged.arguments["documents"]
    booked = claims_office.payable(last)
    said = f"documents 1 to {last} come to {booked}"
    return Opinion(passed=booked == Decimal(judged.arguments["total"]), detail=said)


@claims.verifier("Few are unclear", of="claims.book", judges="result")
def few_unclear(judged: Judged) -> Opinion:
    """Whether the plan's assumption holds, once there are enough documents to tell."""
    number = judged.arguments["number"]
    unclear = claims_office.unclear(number)
    return Opinion(
        passed=number < ENOUGH or unclear * 4 <= number,
        detail=f"{unclear} of {number}",
        contradicts="few",
    )


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
