"""The state at any step, rebuilt by replay from the nearest snapshot before it. Nothing is done and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel

from reviewhub_agents import canonical

from .engine import begin, go_through
from .errors import Paused, ReplayDiverged
from .graph import Graph
from .store import (
    Call,
    ChildEnd,
    Declaration,
    Intent,
    Kept,
    Ledger,
    Loaded,
    Next,
    Permit,
    Plan,
    Proposal,
    Signals,
    Snapshot,
    Status,
    Stop,
    Store,
)
from .verifiers import Came

S = TypeVar("S", bound=BaseModel)


def rebuild(graph: Graph[S], store: Store, step: int) -> S:
    """The state at the beginning of step `step` (0 is the first), from the ledger of the branch that `store` keeps.

    The branch may be held by another process, paused or over: it is only read. The code that runs is the steps' own
    with every result taken from the ledger, so it has to be the code that ran then; in the mode `events` each step is
    compared with the hash that was kept of it.

    Raises:
        ReplayDiverged: the ledger does not reach so far, or this code goes another way.
        StateError: this code cannot read the snapshot.
    """
    snapshot = store.nearest(step)
    if snapshot is None:
        raise ReplayDiverged(f"no snapshot leads to step {step}")
    ledger = store.ledger(snapshot.step)
    with ExitStack() as stack:
        work = begin(graph, Past(ledger), snapshot, ledger.places(), stack)
        try:
            state = go_through(graph, work, until=step)
        except Paused as paused:
            raise ReplayDiverged(f"the run waits in step {work.head.at.step}") from paused
        if work.head.at.step != step:
            raise ReplayDiverged(f"the run ended with step {work.head.at.step}")
    return state


class Past:
    """A store that answers from a ledger and takes nothing new."""

    def __init__(self, ledger: Ledger) -> None:
        """Made by `rebuild`."""
        self._ledger = ledger

    def load(self) -> Loaded:
        """Nobody starts from here."""
        _refuse("load")

    def declare(self, declaration: Declaration) -> None:
        """Nothing is saved, so nothing need be said of it."""

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Only in memory."""
        return Snapshot(id=f"rebuilt/{step}", node=node, step=step, state=state)

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """The calls as they stand. Raises ReplayDiverged when one was not asked for, or for something else."""
        calls = []
        for one in proposals:
            call = self._ledger.calls.get(one.key)
            if call is None or not _same(one, call):
                raise ReplayDiverged(f"{one.key} was not asked for, or for something else")
            calls.append(call)
        return Stop(id=f"rebuilt/{key}", calls=tuple(calls), checkpoint=f"rebuilt/{key}")

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Nothing runs."""
        _refuse(call.key)

    def progress(self, call: Call, *, partial: str) -> None:
        """Nothing runs."""
        _refuse(call.key)

    def outcome(
        self,
        call: Call,
        *,
        attempt: int,
        status: Status,
        result: str | None = None,
        error: str = "",
        then: Next | None = None,
    ) -> Permit | None:
        """Nothing runs."""
        _refuse(call.key)

    def kept(self, key: str) -> Kept | None:
        """A recorded result."""
        return self._ledger.records.get(key)

    def keep(self, key: str, kept: Kept) -> None:
        """An event of a step may be missing where the run was not event-sourced; any other result may not."""
        if not key.endswith("/end"):
            _refuse(key)

    def ledger(self, since: int) -> Ledger:
        """What is known."""
        return self._ledger

    def places(self, since: int) -> set[str]:
        """Of what is known."""
        return self._ledger.places()

    def nearest(self, step: int) -> Snapshot | None:
        """Nobody looks further back from here."""
        return None

    def now(self) -> datetime:
        """Nobody goes to sleep anew here."""
        _refuse("the time")

    def sleep(self, *, until: str) -> bool:
        """What slept has woken."""
        return True

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Nothing starts."""
        _refuse(key)

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """What came of children was recorded."""
        _refuse("wait for children")

    def leave_thread(self) -> None:
        """There is nothing to leave."""

    def plan(self) -> Plan | None:
        """The plan is none of the state."""
        _refuse("plan")

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """Nothing is written."""
        _refuse(key)

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """Nothing is written."""
        _refuse(step)

    def signals(self) -> Signals:
        """What was seen then was recorded."""
        _refuse("signals")

    def judged(self, call: Call, came: Came) -> None:
        """Nothing is judged anew."""
        _refuse(came.name)

    def enter(self, *, node: str, step: int) -> str | None:
        """Whether it was asked for says the ledger."""
        return None

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Nothing ends."""
        _refuse(canonical.dumps(result))

    def fail(self, *, error: str) -> None:
        """Nothing ends."""
        _refuse(error)

    def heartbeat(self) -> None:
        """Nobody holds it."""


def _same(asked: Proposal, call: Call) -> bool:
    """Whether a call is what is asked for; of one that a person edited only the tool can be compared."""
    if call.decision is not None and call.decision.edited:
        return call.tool == asked.tool
    return call.digest == canonical.digest(tool=asked.tool, arguments_text=asked.arguments)


def _refuse(what: str) -> NoReturn:
    raise ReplayDiverged(f"the ledger ends here: {what} was never done")
