"""What a chaos run says: tables of calls and of what their tools really did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import END, Context, Graph, ToolRun, run
from reviewhub_agents.runtime.memory import MemoryStore

from reviewhub.ops.chaos.journal import Journal
from reviewhub.ops.chaos.rules import Books, Entry, Report, compare


def entry(state: str, effect: str = "once", asked: int = 0) -> Entry:
    return Entry(key="k", tool="pay", effect=effect, state=state, asked=asked)


# A call, how often its tool began and ended, and the books.
TABLE = [
    ("done once", entry("succeeded"), 1, 1, Books(expected=1, done=1)),
    (
        "killed before it began, it ran later",
        entry("succeeded", asked=1),
        1,
        1,
        Books(expected=1, done=1, asked=1),
    ),
    ("twice", entry("succeeded"), 2, 2, Books(expected=1, done=1, twice=["pay: done 2 times"])),
    ("again is fine", entry("succeeded", "idempotent"), 3, 3, Books(expected=1, done=1, repeated=2)),
    ("a look is no effect", entry("succeeded", "read"), 5, 5, Books()),
    ("refused", entry("denied"), 0, 0, Books()),
    ("failed", entry("failed"), 1, 0, Books()),
    ("killed inside", entry("skipped", asked=1), 1, 0, Books(open=1, asked=1)),
    (
        "said and not done",
        entry("succeeded"),
        0,
        0,
        Books(expected=1, lost=["pay: succeeded, and its tool never ended"]),
    ),
    ("done and not said", entry("skipped"), 1, 1, Books(lost=["pay: done, and the ledger says skipped"])),
    ("left over", entry("allowed"), 0, 0, Books(lost=["pay: left allowed"])),
    ("a look that is left over", entry("started", "read"), 1, 0, Books(lost=["pay: left started"])),
]


@pytest.mark.parametrize(
    ("call", "begun", "done", "wanted"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE]
)
def test_the_books(call: Entry, begun: int, done: int, wanted: Books) -> None:
    found = compare([call], begun=Counter(k=begun), done=Counter({"k": done} if done else {}))
    assert found == wanted
    assert found.is_clean == (not (wanted.twice or wanted.lost))


def test_an_effect_that_nobody_knows_of_is_lost() -> None:
    found = compare([], begun=Counter(x=1), done=Counter(x=1))
    assert found.lost == ["an effect that no call knows of (x)"]


@pytest.mark.parametrize(
    ("runs", "books", "is_clean"),
    [
        (Counter(succeeded=3), Books(expected=3, done=3), True),
        (Counter(succeeded=2, quarantined=1), Books(expected=2, done=2), False),
        (Counter(succeeded=3), Books(twice=["pay: done 2 times"]), False),
        (Counter(succeeded=3), Books(expected=2, done=1), False),
    ],
)
def test_what_is_clean(runs: Counter[str], books: Books, is_clean: bool) -> None:
    report = Report(
        faults=Counter({"consume.after_commit": 2, "in between": 1}),
        runs=runs,
        books=books,
        useful=10.0,
        redone=0.5,
        redone_from_zero=7.0,
        recovery=3.0,
        progress=0.74,
        tokens_again_from_zero=120,
        tokens_spared=9,
    )
    assert report.is_clean is is_clean
    said = "\n".join(report.lines())
    assert "faults injected" in said
    assert "consume.after_commit" in said
    assert "74.0%" in said
    assert ("nothing" in said) or books.twice


class Note(BaseModel):
    text: str = "x"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_journal_hears_every_beginning_and_every_end(tmp_path: Path, is_async: bool) -> None:
    graph = Graph("noter", Note)

    def note(args: Note, run: ToolRun) -> dict[str, int]:
        """Notes."""
        if run.attempt == 1:
            raise ConnectionError("not yet")
        return {"attempt": run.attempt}

    async def note_async(args: Note, run: ToolRun) -> dict[str, int]:
        """Notes, and lets others run."""
        return note(args, run)

    declared = graph.tool("note", effect="idempotent", tries=2, wait=0)
    declared(note_async if is_async else note)

    @graph.step(to=[END])
    def only(state: Note, ctx: Context[Note]) -> None:
        ctx.tool("note", {"text": "a"})

    journal = Journal(tmp_path / "effects.jsonl")
    assert not journal.read().begun
    journal.watch(graph)
    run(graph, MemoryStore(policy=lambda _: "allowed"))
    found = journal.read()
    (key,) = found.begun
    assert (found.begun[key], found.done[key], found.results[key]) == (2, 1, '{"attempt":2}')
