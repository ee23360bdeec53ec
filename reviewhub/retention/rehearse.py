"""A hosted branch is run on as if it were woken, up to where something new would begin. Reads, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

from reviewhub_agents import runtime, wire
from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.errors import ReplayDiverged
from reviewhub_agents.runtime.store import (
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
    WrittenAs,
)
from reviewhub_agents.runtime.verifiers import Came

from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.queries import head_of
from reviewhub.core.errors import IdempotencyConflict, NotFound
from reviewhub.core.idempotency import answered
from reviewhub.gates.present import pause_out
from reviewhub.gates.present_plans import plan_out
from reviewhub.hosting.graphs import graph_of
from reviewhub.hosting.queries import record_of
from reviewhub.plans.queries import in_force
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Pause


class Reached(BaseException):
    """The branch got to something that it has not done yet. No Exception: an agent's handlers let it through."""


def rehearse(branch: Branch) -> str:
    """Loads the head by the agent's code and runs its step on what is kept; where it got to, in words.

    Raises:
        Exception: whatever keeps this branch from being resumed.
    """
    try:
        ending = runtime.run(graph_of(branch.run.agent.graph).named(branch.run.graph), _Kept(branch))
    except Reached as reached:
        return str(reached)
    return "waits for people" if ending == "paused" else "has ended"


class _Kept:
    """What is kept of a branch; all that would be new ends the rehearsal."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    def load(self) -> Loaded:
        """The head, as a worker reads it."""
        head = head_of(self._branch)
        if head is None:
            return Loaded(input=self._branch.run.input, snapshot=None)
        schema = head.state_schema
        written_as = WrittenAs(name=schema.name, version=schema.version) if schema else None
        snapshot = Snapshot(
            id=str(head.pk), node=head.node, step=head.step, state=load(head), written_as=written_as
        )
        return Loaded(input=self._branch.run.input, snapshot=snapshot)

    def declare(self, declaration: Declaration) -> None:
        """Nothing is registered."""

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """A new checkpoint would begin."""
        _reached(f"would save a checkpoint and go to {node}")

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """The pause that was made under this key, or the end."""
        body = messages.pause_body(
            branch=self._branch.name,
            checkpoint=messages.checkpoint_in(parent=None, snapshot=snapshot, written_as=None),
            proposals=list(proposals),
            kind=wire.ResumeKind.HOSTED,
            epoch=None,
        )
        run = self._branch.run
        try:
            before = answered(
                scope=f"pause:{run.agent_id}:{run.pk}",
                key=f"{self._branch.pk}/{key}",
                body_digest=messages.asked_digest(body),
            )
        except IdempotencyConflict as error:
            raise ReplayDiverged(f"{key} asked for something else before") from error
        if before is None:
            _reached(f"would ask for {', '.join(one.tool for one in proposals)}")
        return messages.stop_of(pause_out(Pause.objects.get(pk=before)), list(proposals))

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """A tool would run."""
        _reached(f"would run {call.tool}")

    def progress(self, call: Call, *, partial: str) -> None:
        """No tool runs, so none gets anywhere."""

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
        """People would be asked."""
        _reached(f"would ask people what became of {call.tool}")

    def kept(self, key: str) -> Kept | None:
        """What was recorded, or the end: what would be recorded may be a model call."""
        try:
            return messages.kept_of(record_of(branch=self._branch, key=key).value)
        except NotFound:
            _reached(f"would do {key}")

    def keep(self, key: str, kept: Kept) -> None:
        """Nothing new is recorded."""
        _reached(f"would record {key}")

    def ledger(self, since: int) -> Ledger:
        """Not asked for: what was done and is not asked for again is found when the branch is resumed."""
        return Ledger()

    def places(self, since: int) -> set[str]:
        """Nor these."""
        return set()

    def nearest(self, step: int) -> Snapshot | None:
        """Only the head is looked at."""

    def now(self) -> datetime:
        """It would sleep for a while."""
        _reached("would ask for the time")

    def sleep(self, *, until: str) -> bool:
        """It would sleep, perhaps."""
        _reached(f"would go on at {until}")

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """A child would start."""
        _reached(f"would start the child {graph}")

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """It would wait, perhaps."""
        _reached("would wait for its children")

    def leave_thread(self) -> None:
        """There is no other thread."""

    def plan(self) -> Plan | None:
        """The plan in force."""
        found = in_force(self._branch.pk)
        return messages.plan_of(plan_out(found)) if found else None

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """A plan would be written."""
        _reached("would write a plan")

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """No mark is made."""

    def signals(self) -> Signals:
        """It would look, and perhaps plan anew."""
        _reached("would look whether it needs another plan")

    def judged(self, call: Call, came: Came) -> None:
        """A verdict would be written."""
        _reached(f"would write down what {came.name} says")

    def enter(self, *, node: str, step: int) -> str | None:
        """Whether people are asked before a step does not matter here."""
        return None

    def finish(self, *, result: str, call: str | None = None) -> None:
        """It would end."""
        _reached("would end")

    def fail(self, *, error: str) -> None:
        """It would end."""
        _reached("would fail")

    def heartbeat(self) -> None:
        """Nobody needs to know."""


def _reached(where: str) -> NoReturn:
    raise Reached(where)
