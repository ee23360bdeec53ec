"""A replay that is not the same as the first time is found before it acts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ReplayDiverged, ToolRun, run
from reviewhub_agents.runtime.memory import MemoryStore


class Note(BaseModel):
    text: str = ""


class Died(Exception):
    """What a step may raise at its end, once."""


def agent(script: list[list[str]]) -> tuple[Graph[Note], list[str]]:
    """One step that does what the first list of `script` says; each run takes the next one."""
    graph, done = Graph("scripted", Note), list[str]()

    @graph.tool("pay", effect="once")
    def pay(args: Note, run: ToolRun) -> None:
        """Pays."""
        done.append(args.text)

    @graph.step(to=[END])
    def act(state: Note, ctx: Context[Note]) -> None:
        for what in script.pop(0):
            verb, _, text = what.partition(" ")
            if verb == "pay":
                ctx.tool("pay", {"text": text})
            elif verb == "record":
                ctx.record(text, lambda: 1)
            else:
                raise Died

    return graph, done


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        (["pay a"], [], "0/act/pause/1 the first time, and not now"),
        (["pay a", "record x"], ["pay a"], "record"),
        (["record x", "pay a"], ["pay b"], "is new|something else|asked for"),
        (["record x"], ["pay b"], "0/act/pause/1 is new; the first time this step asked for 0/act/x/1"),
    ],
)
def test_something_else_is_reported(first: list[str], then: list[str], says: str) -> None:
    graph, done = agent([[*first, "die"], [*then]])
    store = MemoryStore(policy=lambda proposal: "allowed")
    with pytest.raises(Died):
        run(graph, store)
    before = list(done)
    with pytest.raises(ReplayDiverged, match=says.replace("record", "x/1") if says == "record" else says):
        run(graph, store)
    assert done == before


@pytest.mark.parametrize("more", [[], ["record y"], ["pay b", "record z"]])
def test_the_same_and_then_more_is_fine(more: list[str]) -> None:
    graph, done = agent([["record x", "pay a", "die"], ["record x", "pay a", *more]])
    store = MemoryStore(policy=lambda proposal: "allowed")
    with pytest.raises(Died):
        run(graph, store)
    assert run(graph, store) == "finished"
    assert done.count("a") == 1


def test_keys_that_others_recorded_are_none_of_the_engine_s() -> None:
    graph, _ = agent([["record x"]])
    store: Any = MemoryStore(policy=lambda proposal: "allowed")
    store.records |= {"note": None, "x/y/z": None, "99999999999999999999999/a": None}
    assert run(graph, store) == "finished"
