"""Declared tools: results that are not as declared, repeats, and what makes running twice harmless."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents import wire
from reviewhub_agents.runtime import END, Context, Graph, GraphError, ToolError, ToolRun, run
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.safely import TABLE, answered, conditionally, deduplicated, headers
from reviewhub_agents.runtime.testing import call_twice


class Note(BaseModel):
    text: str = ""
    error: str = ""


class Paid(BaseModel):
    payment: str
    cents: int


def attempt(number: int = 1, key: str = "call-1.1") -> ToolRun:
    return ToolRun(idempotency_key=key, attempt=number, progress=lambda partial: None)


def payer(gives: Any, *, effect: Any = "once") -> Graph[Note]:
    graph = Graph("payer", Note)

    @graph.tool("pay", effect=effect, result=Paid)
    def pay(args: Note, run: ToolRun) -> Any:
        """Pays."""
        return gives

    @graph.step(to=[END])
    def work(state: Note, ctx: Context[Note]) -> None:
        paid = ctx.tool("pay", {})
        state.text, state.error = f"{paid.outcome} {json.dumps(paid.value)}", paid.error
        ctx.gate("go", {})

    return graph


@pytest.mark.parametrize(
    ("gives", "outcome", "says"),
    [
        ({"payment": "p1", "cents": 5}, 'done {"cents": 5, "payment": "p1"}', ""),
        ({"payment": "p1", "cents": "many"}, "invalid null", "/cents"),
        ({"payment": "p1"}, "invalid null", "/cents"),
        ("p1", "invalid null", "the whole result"),
    ],
)
def test_a_result_that_is_not_as_declared_is_kept_and_not_built_upon(
    gives: Any, outcome: str, says: str
) -> None:
    store = MemoryStore(policy=lambda proposal: "allowed" if proposal.tool == "pay" else "waiting")
    graph = payer(gives)
    assert run(graph, store) == "paused"
    store.decide("approve")
    assert run(graph, store) == "finished"  # the replay says the same
    last = graph.states.load(store.snapshots[-1].state)
    assert last.text == outcome
    assert (says in last.error) is bool(says) or not says
    call = next(iter(store.ledger(0).calls.values()))
    assert call.state == "succeeded"  # it did happen, and its result is in the ledger
    assert call.result is not None
    assert "p1" in call.result


def test_what_the_hub_is_told_is_what_it_takes() -> None:
    graph = payer({}, effect="idempotent")

    @graph.tool("read", effect="read", tries=4, wait=1.5)
    def read(args: Note, run: ToolRun) -> None:
        """Reads."""

    told = wire.ToolRegister.from_tree(graph.tools["read"].describe())
    assert told.retry is not None
    assert told.retry.wait is not None
    assert (told.retry.attempts, told.retry.wait.total_seconds()) == (4, 1.5)
    schema: Any = wire.ToolRegister.from_tree(graph.tools["pay"].describe()).result_schema
    assert sorted(schema["required"]) == ["cents", "payment"]
    assert [graph.tools["read"].pause_before(n) for n in (1, 2, 3, 9)] == [1.5, 3.0, 6.0, 60.0]


@pytest.mark.parametrize("wrong", [{"tries": 0}, {"wait": -1}, {"result": object()}])
def test_declarations_that_cannot_be_are_refused(wrong: Any) -> None:
    graph = Graph("bad", Note)
    with pytest.raises(GraphError, match="tool x"):

        @graph.tool("x", effect="read", **wrong)
        def x(args: Note, run: ToolRun) -> None:
            """Wrong."""


# What makes running twice harmless.


def accounts() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level="IMMEDIATE")
    made.execute(TABLE)
    made.execute("CREATE TABLE paid (cents INTEGER)")
    made.commit()
    return made


def total(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(sum(cents), 0) FROM paid").fetchone()[0])


def test_effect_and_key_are_one_transaction() -> None:
    bank = accounts()

    def pay(cursor: sqlite3.Cursor) -> dict[str, int]:
        cursor.execute("INSERT INTO paid VALUES (5)")
        return {"cents": 5}

    def break_off(cursor: sqlite3.Cursor) -> None:
        pay(cursor)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        deduplicated(bank, attempt(), break_off)
    assert total(bank) == 0
    for number in (1, 2, 3):
        assert deduplicated(bank, attempt(number), pay) == {"cents": 5}
    assert total(bank) == 5
    deduplicated(bank, attempt(key="call-1.2"), pay)  # an edited call is another one
    assert total(bank) == 10


class Cell:
    """A value with versions, which others may change between reading and writing."""

    def __init__(self, *others: str) -> None:
        self.value, self.version, self.writes, self.others = "a", 1, 0, list(others)

    def read(self) -> tuple[str, int]:
        return self.value, self.version

    def write(self, value: str, version: int) -> bool:
        if self.others:
            self.value, self.version = self.others.pop(0), self.version + 1
        if version != self.version:
            return False
        self.value, self.version, self.writes = value, self.version + 1, self.writes + 1
        return True

    def add(self, text: str) -> str:
        return conditionally(
            read=self.read,
            is_done=lambda value: value.endswith(text),
            change=lambda value: value + text,
            write=self.write,
        )


def test_a_conditional_write_loses_nothing_and_a_repeat_writes_nothing() -> None:
    cell = Cell("b")
    assert (cell.add("!"), cell.add("!"), cell.writes) == ("b!", "b!", 1)
    busy = Cell("b", "c", "d")
    with pytest.raises(ToolError, match="3 times"):
        busy.add("!")
    assert (busy.value, busy.writes) == ("d", 0)


@pytest.mark.parametrize(
    ("status", "raises"),
    [(200, None), (204, None), (400, ToolError), (404, ToolError), (422, ToolError)]
    + [(status, RuntimeError) for status in (302, 408, 409, 425, 429, 500, 503)],
)
def test_what_a_status_says_about_what_happened(status: int, raises: Any) -> None:
    if raises is None:
        answered(status)
    else:
        with pytest.raises(raises):
            answered(status, "no")


def test_the_key_goes_along() -> None:
    assert headers(attempt()) == {"Idempotency-Key": "call-1.1"}


def mailer(sent: list[str], *, checks: bool, says: str = "the same") -> Graph[Note]:
    graph = Graph("mailer", Note)

    @graph.resource
    def keys() -> set[str]:
        return set()

    @graph.tool("send", effect="idempotent")
    def send(args: Note, run: ToolRun) -> Any:
        """Sends."""
        known = run.use(keys)
        if not (checks and run.idempotency_key in known):
            sent.append(args.text)
        known.add(run.idempotency_key)
        return {"sent": True, "n": run.attempt} if says == "counts" else {"sent": True}

    @graph.tool("send_later", effect="idempotent")
    async def send_later(args: Note, run: ToolRun) -> Any:
        """Sends."""
        return send(args, run)

    return graph


@pytest.mark.parametrize("tool", ["send", "send_later"])
def test_the_helper_finds_out_whether_a_tool_is_idempotent(tool: str) -> None:
    sent: list[str] = []
    assert call_twice(mailer(sent, checks=True), tool, {"text": "hi"}, look=lambda: list(sent)) == {
        "sent": True
    }
    assert sent == ["hi"]
    with pytest.raises(AssertionError, match="no idempotent tool"):
        call_twice(mailer(sent, checks=False), tool, {"text": "hi"}, look=lambda: list(sent))
    with pytest.raises(AssertionError, match="and then"):
        call_twice(mailer(sent, checks=True, says="counts"), tool, {}, look=lambda: list(sent))
