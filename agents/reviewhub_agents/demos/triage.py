"""A hosted agent that lets others work: a child run for each message of the morning, then one report about all of them.

What waits for people is in one child, a credit. The other children go on meanwhile and end, and the desk that started
them holds no worker: it is woken when the last child has ended.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import triage_desk
from reviewhub_agents.runtime import END, Context, Graph, Scripted, ToolRun

Number = Annotated[int, Field(ge=1, le=len(triage_desk.MESSAGES))]
Money = Annotated[str, Field(pattern=r"^[0-9]{1,5}\.[0-9]{2}$", examples=["18.00"])]


class ReadMessage(BaseModel):
    """Which message."""

    number: Number


class Credit(BaseModel):
    """How much to give back to the sender of which message."""

    number: Number
    amount: Money


class FileAnswer(BaseModel):
    """What to answer to which message."""

    number: Number
    text: Annotated[str, Field(max_length=2000)]


class FileReport(BaseModel):
    """What became of the morning."""

    text: Annotated[str, Field(max_length=4000)]


class Case(BaseModel):
    """One message, and what was done about it."""

    number: Number = 1
    sender: str = ""
    text: str = ""
    kind: str = ""
    result: str = ""


class Morning(BaseModel):
    """How many messages there are, who is at work on them, and what they say in the end."""

    messages: Number = len(triage_desk.MESSAGES)
    handles: list[str] = []
    result: str = ""


case = Graph(
    "case",
    Case,
    version=1,
    description="Sorts one message, credits what arrived broken when people agree, and files an answer.",
    model=Scripted(triage_desk.sort),
    result=lambda last: last.result,
)

triage = Graph(
    "triage",
    Morning,
    version=1,
    description="Hands each message of a morning to a child run of its own, and reports about all of them.",
    result=lambda last: last.result,
)
triage.child(case)


@triage.step(to=["collect"])
def hand_out(state: Morning, ctx: Context[Morning]) -> None:
    """Starts a child for each message, and waits for none of them."""
    numbers = range(1, state.messages + 1)
    state.handles = [ctx.start_child("case", {"number": one}, title=f"Message {one}") for one in numbers]


@triage.step(to=[END])
def collect(state: Morning, ctx: Context[Morning]) -> None:
    """Waits for all of them, and files the report; of a child that did not come to its end it says why."""
    ends = ctx.wait_for(state.handles)
    said = [end.value if end.ok else f"{end.outcome}: {end.error}" for end in ends]
    state.result = "\n".join(f"{number}. {what}" for number, what in enumerate(said, start=1))
    ctx.tool("desk.report", {"text": state.result})


@triage.tool("desk.report", effect="idempotent", time_limit=30, tries=3)
def file_report(args: FileReport, run: ToolRun) -> dict[str, Any]:
    """Files the morning's report."""
    return {"new": triage_desk.report(text=args.text, key=run.idempotency_key)}


@case.step(to=["settle"])
def sort(state: Case, ctx: Context[Case]) -> None:
    """Reads the message and finds out what it is."""
    read = ctx.tool("desk.message", {"number": state.number}).value
    state.sender, state.text = read["from"], read["text"]
    state.kind = str(ctx.model([{"role": "user", "content": state.text}])["content"])


@case.step(to=[END])
def settle(state: Case, ctx: Context[Case]) -> None:
    """Gives back what is asked for, if people agree, and answers."""
    done = "thanked" if state.kind == "praise" else "answered"
    wanted = re.search(r"\$(\d+\.\d\d)", state.text)
    if state.kind == "complaint" and wanted:
        reason = f"{state.sender} writes: {state.text}"
        paid = ctx.tool("desk.credit", {"number": state.number, "amount": wanted[1]}, reason=reason)
        done = f"{paid.value['amount']} credited" if paid.outcome == "done" else "nothing credited"
    text = f"Dear {state.sender},\n\nthank you for your message. For our books: {done}.\n\nThe demo shop"
    ctx.tool("desk.answer", {"number": state.number, "text": text})
    state.result = f"{state.kind} of {state.sender}: {done}"


@case.tool("desk.message", effect="read", time_limit=30, tries=3)
def read_message(args: ReadMessage, run: ToolRun) -> dict[str, str]:
    """Reads one message."""
    return triage_desk.message(args.number)


@case.tool(
    "desk.credit",
    effect="once",
    time_limit=60,
    sentence="Credit ${amount:money} to the sender of message {number}",
)
def credit(args: Credit, run: ToolRun) -> dict[str, Any]:
    """Gives money back. Cannot be taken back, and gives it again each time it runs."""
    number = triage_desk.credit(args.number, amount=args.amount, key=run.idempotency_key)
    return {"credit": number, "amount": args.amount}


@case.tool("desk.answer", effect="idempotent", time_limit=30, tries=3)
def file_answer(args: FileAnswer, run: ToolRun) -> dict[str, Any]:
    """Files an answer to a message."""
    return {"new": triage_desk.answer(args.number, text=args.text, key=run.idempotency_key)}
