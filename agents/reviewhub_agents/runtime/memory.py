"""A store in memory: for an agent's own tests, with people played by `decide`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from reviewhub_agents import canonical

from . import messages
from .errors import ApprovalNeeded, AskedAgain, Fenced, GraphError, PlanChanged, ReplayDiverged
from .replay import step_of
from .store import (
    Call,
    ChildEnd,
    Decided,
    Declaration,
    Intent,
    Kept,
    Ledger,
    Loaded,
    Next,
    Permit,
    Plan,
    PlanStep,
    Proposal,
    Signals,
    Snapshot,
    Status,
    Stop,
    WrittenAs,
)
from .verifiers import Came

Policy = Callable[[Proposal], str]
"""What becomes of a proposal at once: `allowed`, `denied` or `waiting`."""


@dataclass
class _Row:
    call: Call
    proposal: Proposal
    arguments: str
    grant: bool = False


@dataclass
class MemoryStore:
    """Keeps one branch of one run while the process lives. `policy` answers; by default everything waits.

    `gated` are the acts that need somebody's yes: `rh.plan`, `rh.finish`, `rh.step/NODE`. `asked`: a person wants
    another plan, and says why.
    """

    input: str = "{}"
    graph: str = ""
    children: dict[str, MemoryStore] = field(default_factory=dict)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleeps_until: datetime | None = None
    policy: Policy = lambda proposal: "waiting"
    gated: frozenset[str] = frozenset()
    asked: str = ""
    verdicts: list[tuple[int, Came]] = field(default_factory=list)
    _before_plan: int = 0
    state: str = "running"
    result: str | None = None
    error: str = ""
    snapshots: list[Snapshot] = field(default_factory=list)
    records: dict[str, Kept] = field(default_factory=dict)
    partials: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    schemas: dict[WrittenAs, str] = field(default_factory=dict)
    _written_as: WrittenAs | None = None
    _stops: dict[str, list[_Row]] = field(default_factory=dict)
    _ids: dict[str, tuple[str, str]] = field(default_factory=dict)
    _written: dict[str, tuple[Intent, int]] = field(default_factory=dict)

    def load(self) -> Loaded:
        """The head of the branch."""
        return Loaded(input=self.input, snapshot=self.snapshots[-1] if self.snapshots else None)

    def declare(self, declaration: Declaration) -> None:
        """Says what the states are that are saved from now on."""
        known = self.schemas.setdefault(declaration.written_as, declaration.schema)
        if known != declaration.schema:
            raise GraphError(f"another schema is known as {declaration.written_as}")
        self._written_as = declaration.written_as

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Saves a snapshot as the new head."""
        self._check()
        return self._save(Snapshot(id="", node=node, step=step, state=state))

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """Asks for calls, or finds the pause made under the same key."""
        self._check()
        rows = self._stops.get(key)
        if rows is None:
            known = snapshot if snapshot.id else self._save(snapshot)
            rows = [self._propose(proposal) for proposal in proposals]
            self._stops[key] = rows
            self._ids[key] = (str(uuid.uuid4()), known.id)
            if any(row.call.state == "waiting" for row in rows):
                self.state = "paused"
        elif [_asked(row.proposal) for row in rows] != [_asked(proposal) for proposal in proposals]:
            raise ReplayDiverged(f"{key} asked for something else before")
        return self._stop(key)

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Uses the grant of an allowed call, or begins a new attempt."""
        self._check()
        row = self._row(call)
        again = row.call.effect != "once" and row.call.state in {"started", "failed"}
        if not (row.grant or again):
            raise AskedAgain(f"{call.tool} is {row.call.state}")
        row.grant = False
        row.call = replace(row.call, state="started", attempt=row.call.attempt + 1)
        return Permit(arguments=row.arguments, idempotency_key=call.id, attempt=row.call.attempt)

    def progress(self, call: Call, *, partial: str) -> None:
        """Keeps what a running tool has got so far."""
        self.partials.append(partial)
        row = self._row(call)
        row.call = replace(row.call, partial=partial)

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
        """Writes down how a started call ended."""
        row = self._row(call)
        if row.call.attempt != attempt:
            raise Fenced(f"{call.tool} was started again meanwhile")
        row.call = replace(row.call, state=status, result=result, error=error)
        if status == "unknown":
            self.state = "paused"
        return None

    def kept(self, key: str) -> Kept | None:
        """A recorded result."""
        return self.records.get(key)

    def keep(self, key: str, kept: Kept) -> None:
        """Records a result; the first one under a key stays."""
        self._check()
        self.records.setdefault(key, kept)

    def ledger(self, since: int) -> Ledger:
        """What was recorded since a step."""
        calls = {row.call.key: row.call for rows in self._stops.values() for row in rows}
        return Ledger(
            records={key: kept for key, kept in self.records.items() if step_of(key) >= since},
            calls={key: call for key, call in calls.items() if step_of(key) >= since},
        )

    def places(self, since: int) -> set[str]:
        """Where something was recorded since a step."""
        return self.ledger(since).places()

    def nearest(self, step: int) -> Snapshot | None:
        """The newest snapshot that is not after a step."""
        return next((one for one in reversed(self.snapshots) if one.step <= step), None)

    def now(self) -> datetime:
        """By `clock`."""
        return self.clock()

    def sleep(self, *, until: str) -> bool:
        """Whether it is that time by `clock`; `wake` lets the branch go on."""
        self._check()
        self.sleeps_until = datetime.fromisoformat(until)
        if self.clock() >= self.sleeps_until:
            return True
        self.state = "sleeping"
        return False

    def wake(self) -> None:
        """The timer of a branch that sleeps has run out, or somebody thinks so."""
        self.state = "running"

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Makes a store for the child, which whoever runs this one runs too (`runtime.testing.run_family`)."""
        self._check()
        made = MemoryStore(input=given, graph=graph, clock=self.clock, policy=self.policy, gated=self.gated)
        found = self.children.setdefault(key, made)
        if (found.graph, found.input) != (graph, given):
            raise ReplayDiverged(f"{key} started another child before")

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """How children ended; None, and this branch sleeps, while one has not."""
        self._check()
        keys = list(self.children) if children is None else list(children)
        if missing := [key for key in keys if key not in self.children]:
            raise GraphError(f"there is no child {missing[0]}")
        ends = [_end(key, self.children[key]) for key in keys]
        if None in ends:
            self.state = "sleeping"
            return None
        return [end for end in ends if end is not None]

    def leave_thread(self) -> None:
        """Nothing is kept for a thread."""

    def plan(self) -> Plan | None:
        """The plan in force."""
        return self.plans[-1] if self.plans else None

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """Writes the next version, or finds the one written under the same key."""
        self._check()
        before = self._written.get(key)
        if before is not None:
            if before[0] != intent:
                raise ReplayDiverged(f"{key} wrote another plan before")
            return before[1]
        number = len(self.plans)
        if base is not None and base != number:
            raise PlanChanged(f"version {number} of the plan is in force, not {base}")
        if call is not None and messages.planned(self._allowed(call)) != (base, intent):
            raise ReplayDiverged("another plan was allowed")
        if "rh.plan" in self.gated and call is None:
            body = messages.plan_body(branch="main", intent=intent, base=None, epoch=None).to_tree()
            said = {name: body[name] for name in ("steps", "assumptions", "why") if body.get(name)}
            raise ApprovalNeeded("rh.plan", canonical.dumps({"base": number, "version": number + 1, **said}))
        standing = {one.id: one.status or "pending" for one in _steps(self.plans[-1].steps if number else ())}
        steps = tuple(_begun(step, standing) for step in intent.steps)
        self.plans.append(Plan(version=number + 1, steps=steps, assumptions=dict(intent.assumptions)))
        self._written[key] = (intent, number + 1)
        self._before_plan = sum(_ran(row.call) for rows in self._stops.values() for row in rows)
        self.asked = ""
        return number + 1

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """Says how far a step of the plan in force is."""
        self._check()
        standing = {
            one.id: one.status or "pending" for one in _steps(self.plans[-1].steps if self.plans else ())
        }
        if step not in standing:
            raise PlanChanged(f"the plan in force has no step {step}")
        if standing[step] in _OVER and standing[step] != status:
            raise GraphError(f"step {step} is {standing[step]} and cannot become {status}")
        now = self.plans[-1]
        steps = tuple(_begun(one, {**standing, step: status}, again=True) for one in now.steps)
        self.plans[-1] = replace(now, steps=steps)

    def signals(self) -> Signals:
        """What speaks against the plan in force."""
        if not self.plans:
            return Signals()
        over = [row.call.state for rows in self._stops.values() for row in rows if _ran(row.call)]
        failures = 0
        for state in reversed(over[self._before_plan :]):
            if state != "failed":
                break
            failures += 1
        version = len(self.plans)
        against = [
            one
            for of, one in self.verdicts
            if (of, one.status) == (version, "failed") and one.contradicts in self.plans[-1].assumptions
        ]
        return Signals(
            version=version,
            failures=failures,
            contradicted=against[0].contradicts if against else "",
            because=f"{against[0].name}: {against[0].detail}" if against else "",
            asked=self.asked,
        )

    def judged(self, call: Call, came: Came) -> None:
        """Writes down what a verifier said."""
        self.verdicts.append((len(self.plans), came))

    def enter(self, *, node: str, step: int) -> str | None:
        """What has to be asked before a step, where its act is `gated`."""
        if f"rh.step/{node}" not in self.gated:
            return None
        return canonical.dumps({"node": node, "step": step, "inside_plan": False})

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Ends the branch as succeeded; with open steps of its plan only when people agree."""
        self._check()
        steps = list(_steps(self.plans[-1].steps if self.plans else ()))
        still = [one for one in steps if not one.steps and one.status not in _OVER]
        told = [{"id": one.id, "title": one.title, "status": one.status or "pending"} for one in still]
        arguments = canonical.dumps({"open_steps": told, "result": canonical.reread(result)})
        if call is None and (still or "rh.finish" in self.gated):
            raise ApprovalNeeded("rh.finish", arguments)
        if call is not None and self._allowed(call) != arguments:
            raise ReplayDiverged("another end was allowed")
        self.state, self.result = "succeeded", result

    def fail(self, *, error: str) -> None:
        """Ends the branch as failed."""
        self._check()
        self.state, self.error = "failed", error

    def heartbeat(self) -> None:
        """Raises Fenced when the branch is not this process's any more."""
        self._check()

    def waiting(self) -> list[Call]:
        """The calls that wait for people."""
        rows = [row for rows in self._stops.values() for row in rows]
        return [row.call for row in rows if row.call.state in {"waiting", "unknown"}]

    def decide(self, type_: str, *, arguments: Any = None, value: Any = None, message: str = "") -> None:
        """A person answers the first waiting call; the branch may run on when none waits any more.

        Args:
            type_: approve, edit (with `arguments`), reject, respond (with `value`), or for an unknown outcome
                happened (with `value`), did_not_happen, skip.
        """
        row = self._row(self.waiting()[0])
        text = canonical.dumps(value)
        row.grant = type_ in {"approve", "edit", "did_not_happen"}
        state = "allowed" if row.grant else _AFTER[type_]
        if type_ == "edit":
            row.arguments = canonical.dumps(arguments)
        row.call = replace(
            row.call,
            state=state,
            result=text if type_ == "happened" else row.call.result,
            decision=Decided(
                type=type_,
                by_kind="person",
                by_name="Tess",
                message=message,
                value=text if type_ == "respond" else None,
                edited=type_ == "edit" or (row.call.decision is not None and row.call.decision.edited),
            ),
        )
        if not self.waiting():
            self.state = "running"

    def _check(self) -> None:
        if self.state != "running":
            raise Fenced(f"the branch is {self.state}")

    def _save(self, snapshot: Snapshot) -> Snapshot:
        made = replace(snapshot, id=str(uuid.uuid4()), written_as=self._written_as)
        self.snapshots.append(made)
        return made

    def _propose(self, proposal: Proposal) -> _Row:
        state = self.policy(proposal)
        call = Call(
            id=str(uuid.uuid4()),
            key=proposal.key,
            tool=proposal.tool,
            state=state,
            digest=canonical.digest(tool=proposal.tool, arguments_text=proposal.arguments),
            effect=proposal.effect,
            decision=Decided(type="deny", by_kind="policy", by_name="policy") if state == "denied" else None,
        )
        return _Row(call=call, proposal=proposal, arguments=proposal.arguments, grant=state == "allowed")

    def _allowed(self, call: str) -> str:
        """The arguments with which people allowed an act, by the id of its call."""
        return next(row.arguments for rows in self._stops.values() for row in rows if row.call.id == call)

    def _row(self, call: Call) -> _Row:
        return next(row for rows in self._stops.values() for row in rows if row.call.id == call.id)

    def _stop(self, key: str) -> Stop:
        stop, checkpoint = self._ids[key]
        return Stop(id=stop, calls=tuple(row.call for row in self._stops[key]), checkpoint=checkpoint)


def _ran(call: Call) -> bool:
    return call.state in {"succeeded", "failed"} and not call.tool.startswith("rh.")


def _end(key: str, child: MemoryStore) -> ChildEnd | None:
    if child.state == "succeeded":
        return ChildEnd(child=key, outcome="done", result=child.result)
    return ChildEnd(child=key, outcome="failed", error=child.error) if child.state == "failed" else None


_AFTER = {"reject": "denied", "respond": "skipped", "happened": "succeeded", "skip": "skipped"}


def _asked(proposal: Proposal) -> tuple[str, str]:
    return proposal.tool, proposal.arguments


_OVER = {"done", "skipped"}


def _steps(steps: Sequence[PlanStep]) -> Iterator[PlanStep]:
    for step in steps:
        yield step
        yield from _steps(step.steps)


def _begun(step: PlanStep, standing: Mapping[str, str], *, again: bool = False) -> PlanStep:
    """A step with its status: what it says itself (unless it is looked at `again`), else what stands, else pending."""
    said = None if again else step.status
    inner = tuple(_begun(each, standing, again=again) for each in step.steps)
    return replace(step, status=said or standing.get(step.id, "pending"), steps=inner)
