"""What the kills came to: the ledger beside what the tools really did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OVER = {"succeeded", "failed", "denied", "skipped"}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A call of the ledger. `asked`: people were asked what became of it, so often."""

    key: str
    tool: str
    effect: str
    state: str
    asked: int = 0


@dataclass(kw_only=True)
class Books:
    """Effects as the ledger has them and as they happened, and every call that breaks a promise.

    expected: calls that may change something and succeeded. done: those of them whose tool came to its end. repeated:
    further ends of tools that may run twice. open: killed inside of the tool, where nobody can know; a person said to
    go on without it. asked: how often people were asked what became of a call.
    """

    expected: int = 0
    done: int = 0
    repeated: int = 0
    open: int = 0
    asked: int = 0
    twice: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Nothing twice, nothing lost, and what is expected is what was done."""
        return not self.twice and not self.lost and self.expected == self.done


def compare(calls: Iterable[Entry], *, begun: Mapping[str, int], done: Mapping[str, int]) -> Books:
    """The ledger beside the journal of the tools.

    Args:
        calls: of all runs, after they have ended.
        begun, done: by idempotency key, how often the tool began and came to its end.
    """
    books, known = Books(), set[str]()
    for call in calls:
        known.add(call.key)
        books.asked += call.asked
        if call.state not in OVER:
            books.lost.append(f"{call.tool}: left {call.state}")
        if call.effect == "read":
            continue
        ends = done.get(call.key, 0)
        if call.effect == "once" and ends > 1:
            books.twice.append(f"{call.tool}: done {ends} times")
        elif ends > 1:
            books.repeated += ends - 1
        _account(books, call, ends, begun.get(call.key, 0))
    books.lost += [f"an effect that no call knows of ({key})" for key in done if key not in known]
    return books


def _account(books: Books, call: Entry, ends: int, beginnings: int) -> None:
    if call.state == "succeeded":
        books.expected += 1
        books.done += bool(ends)
        if not ends:
            books.lost.append(f"{call.tool}: succeeded, and its tool never ended")
    elif ends:
        books.lost.append(f"{call.tool}: done, and the ledger says {call.state}")
    elif beginnings and call.state == "skipped":
        books.open += 1


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole of a chaos run. Times are seconds; tokens are estimated, of model answers."""

    faults: Counter[str]
    runs: Counter[str]
    books: Books
    useful: float
    redone: float
    redone_from_zero: float
    recovery: float
    progress: float | None
    tokens_again_from_zero: int
    tokens_spared: int

    @property
    def is_clean(self) -> bool:
        """Every run succeeded, and the books are clean."""
        return self.books.is_clean and set(self.runs) <= {"succeeded"}

    def lines(self) -> list[str]:
        """The table for people."""
        books = self.books
        rows = [
            ("faults injected", str(sum(self.faults.values()))),
            *((f"  {name}", str(count)) for name, count in sorted(self.faults.items())),
            ("runs", ", ".join(f"{count} {state}" for state, count in sorted(self.runs.items())) or "none"),
            ("effects expected", str(books.expected)),
            ("effects done", str(books.done)),
            ("  repeated by tools that may", str(books.repeated)),
            ("outcomes asked of a person", str(books.asked)),
            ("  killed inside of the tool, given up", str(books.open)),
            ("useful time", f"{self.useful:.1f} s"),
            ("redone", f"{self.redone:.1f} s"),
            ("  a restart from zero each time", f"{self.redone_from_zero:.1f} s"),
            ("recovery", f"{self.recovery:.1f} s"),
            ("forward progress", "–" if self.progress is None else f"{self.progress:.1%}"),
            ("tokens found again instead of paid", str(self.tokens_spared)),
            ("  a restart from zero pays again", str(self.tokens_again_from_zero)),
            ("twice", "; ".join(books.twice) or "nothing"),
            ("lost", "; ".join(books.lost) or "nothing"),
        ]
        width = max(len(name) for name, _ in rows) + 2
        return [f"{name:<{width}}{value}" for name, value in rows]
