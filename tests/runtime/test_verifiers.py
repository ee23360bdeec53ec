"""Verifiers judge from outside of the steps, once; and what makes an agent plan anew."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import (
    END,
    Context,
    Graph,
    GraphError,
    Judged,
    Opinion,
    PlanStep,
    Replan,
    Scripted,
    ToolError,
    ToolRun,
    by_model,
    run,
)
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Proposal, Signals
from reviewhub_agents.runtime.verifiers import Verifier, ask


class Work(BaseModel):
    number: int = 0
    whys: list[str] = []


class Number(BaseModel):
    number: int


JUDGED = Judged(tool="pay", arguments={"amount": "1.00"})


def raises(judged: Judged) -> Opinion:
    raise ConnectionError("nobody there")


def hangs(judged: Judged) -> Opinion:
    threading.Event().wait(5)
    return Opinion(passed=True)


def says(text: str) -> Any:
    return by_model(Scripted(lambda messages: {"role": "assistant", "content": text}), lambda judged: [])


@pytest.mark.parametrize(
    ("judge", "status", "detail"),
    [
        (lambda judged: Opinion(passed=True), "passed", ""),
        (lambda judged: Opinion(passed=False, detail="too much"), "failed", "too much"),
        (lambda judged: Opinion(passed="yes"), "failed", ""),
        (lambda judged: True, "error", "TypeError: an Opinion was expected, not bool"),
        (raises, "error", "ConnectionError: nobody there"),
        (hangs, "timed_out", "not done in 0.05 s"),
        (says("Yes, it fits."), "passed", "Yes, it fits."),
        (says("no"), "failed", "no"),
        (says("Perhaps"), "error", "ValueError: it says neither yes nor no: Perhaps"),
        (says(""), "error", "ValueError: it says neither yes nor no: "),
    ],
)
def test_only_a_yes_is_a_yes(judge: Any, status: str, detail: str) -> None:
    came = ask(Verifier(name="v", of="*", judges="proposal", judge=judge, seconds=0.05), JUDGED)
    assert (came.status, came.detail) == (status, detail)


@pytest.mark.parametrize(
    ("signals", "why"),
    [
        (Signals(failures=9, asked="x"), "None"),
        (Signals(version=1, failures=2), "None"),
        (Signals(version=1, failures=3), "3 failures in a row"),
        (Signals(version=1, contradicted="a", because="Late"), "assumption a does not hold: Late"),
        (Signals(version=1, failures=3, contradicted="a", asked="No"), "a person asked for it: No"),
    ],
)
def test_why_a_plan_does_not_hold(signals: Signals, why: str) -> None:
    assert str(Replan(to="think").why(signals)) == why


def agent(*, judged: list[str], plans: bool = True) -> Graph[Work]:
    """Plans, and works on numbers, of which 2 and 3 fail and 5 is odd to its verifier."""
    graph = Graph("worker", Work, replan=Replan(to="think", failures=2))

    @graph.tool("work", effect="read")
    def work(args: Number, run: ToolRun) -> int:
        """Works."""
        if args.number in (2, 3):
            raise ToolError("it is broken")
        return args.number

    @graph.step(to=["go"])
    def think(state: Work, ctx: Context[Work]) -> None:
        why = ctx.plan.why()
        if plans or why is None:
            ctx.plan.write([PlanStep(id="go", title="Go")], assumptions={"low": "Numbers are low"}, why=why)
        state.whys.append(str(why))

    @graph.step(to=["go", END])
    def go(state: Work, ctx: Context[Work]) -> str:
        state.number += 1
        ctx.tool("work", {"number": state.number})
        if state.number == 7:
            ctx.plan.mark("go", "done")
        return "go" if state.number < 7 else END

    @graph.verifier("Looked at", of="work")
    def looked(one: Judged) -> Opinion:
        judged.append(f"{one.arguments['number']}?")
        return Opinion(passed=one.arguments["number"] != 6, detail="six")

    @graph.verifier("Low", of="w*", judges="result")
    def low(one: Judged) -> Opinion:
        judged.append(f"{one.result}!")
        return Opinion(passed=one.result < 5, detail="high", contradicts="low")

    return graph


def policy(proposal: Proposal) -> str:
    return "waiting" if any(check["status"] != "passed" for check in proposal.checks) else "allowed"


def test_it_plans_anew_when_it_fails_when_an_assumption_does_not_hold_and_when_a_person_asks() -> None:
    store, judged = MemoryStore(policy=policy), list[str]()
    assert run(agent(judged=judged), store) == "paused"
    (call,) = store.waiting()
    assert call.tool == "work"
    store.asked = "Do it otherwise"
    store.decide("approve")
    assert run(agent(judged=judged), store) == "finished"
    low, person = "assumption low does not hold: Low: high", "a person asked for it: Do it otherwise"
    whys = ["None", "2 failures in a row", low, person]
    assert json.loads(store.result or "") == {"number": 7, "whys": whys}
    # A replay judges nothing twice, and failures are results of nothing.
    assert judged == ["1?", "1!", "2?", "3?", "4?", "4!", "5?", "5!", "6?", "6!", "7?", "7!"]
    assert [plan.version for plan in store.plans] == [1, 2, 3, 4]


def test_who_makes_no_other_plan_does_not_go_on() -> None:
    store = MemoryStore(policy=lambda proposal: "allowed")
    assert run(agent(judged=[], plans=False), store) == "failed"
    assert store.error == "the plan does not hold (2 failures in a row), and there is no other one"


def test_what_is_declared_wrongly() -> None:
    with pytest.raises(GraphError, match="plan anew"):
        Graph.check(_with(Graph("x", Work, replan=Replan(to="nowhere"))))
    graph = agent(judged=[])
    with pytest.raises(GraphError, match="its own"):
        graph.verifier("Low", of="*")(raises)


def _with(graph: Graph[Work]) -> Graph[Work]:
    @graph.step(to=[END])
    def go(state: Work, ctx: Context[Work]) -> None:
        """Goes."""

    return graph
