"""What an author is told when a graph is registered, before it surprises after a crash."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, GraphError, ToolRun


class Note(BaseModel):
    text: str = ""


def graph(checkpoints: str, *, milestone: bool = False, says: bool = False) -> Graph[Note]:
    """look → pay → tell; `pay` calls a `once` tool and saves as told."""
    made = Graph("payer", Note, checkpoints=checkpoints)

    @made.tool("bank.pay", effect="once")
    def pay_tool(args: Note, run: ToolRun) -> None:
        """Pays."""

    @made.step(to=["pay"])
    def look(state: Note, ctx: Context[Note]) -> None:
        """Looks."""

    def pay(state: Note, ctx: Context[Note]) -> None:
        def really() -> Any:
            return ctx.tool("bank.pay", {"text": state.text})

        really()

    def pay_and_save(state: Note, ctx: Context[Note]) -> None:
        pay(state, ctx)
        ctx.log("bank.pay")
        ctx.checkpoint()

    pay_and_save.__name__ = "pay"
    made.step(to=["tell"], milestone=milestone)(pay_and_save if says else pay)

    @made.step(to=[END])
    def tell(state: Note, ctx: Context[Note]) -> None:
        """Tells."""

    made.check()
    return made


@pytest.mark.parametrize("checkpoints", ["unit", "every", "async"])
def test_steps_that_are_saved_by_themselves_need_no_warning(checkpoints: str) -> None:
    assert graph(checkpoints).warnings() == []


@pytest.mark.parametrize("checkpoints", ["milestones", "events"])
def test_checkpoints_only_at_both_ends_and_none_after_a_once_call(checkpoints: str) -> None:
    ends, once = graph(checkpoints).warnings()
    assert "only at both ends" in ends
    assert "no checkpoint after the `once` call bank.pay in step pay" in once


@pytest.mark.parametrize("how", [{"milestone": True}, {"says": True}])
def test_a_milestone_after_the_once_call_is_enough(how: Any) -> None:
    assert graph("milestones", **how).warnings() == []


def test_an_agent_of_one_step_begins_from_its_top_after_a_crash() -> None:
    made = Graph("one", Note)

    @made.step(to=[END])
    def all_of_it(state: Note, ctx: Context[Note]) -> None:
        """Does everything."""

    assert ["only at both ends" in one for one in made.warnings()] == [True]


@pytest.mark.parametrize("wrong", [{"checkpoints": "often"}, {"snapshot_every": 0}])
def test_checkpoints_that_there_are_not_are_refused(wrong: Any) -> None:
    with pytest.raises(GraphError, match="no such checkpoints"):
        Graph("bad", Note, **wrong)
