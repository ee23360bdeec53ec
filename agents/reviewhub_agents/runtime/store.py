"""What the engine needs to be kept, for one branch of one run.

Two implementations: `reviewhub.hosting.store` in a worker (the database itself), and the HTTP client outside. Both
pass the same contract tests. Texts are canonical JSON. A write raises `Fenced` when this process may not write for
the branch any more; outcomes and progress are taken all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .verifiers import Came

Effect = Literal["read", "idempotent", "once"]
Status = Literal["succeeded", "failed", "unknown"]
ChildOutcome = Literal["done", "failed", "cancelled"]
UNGATED_SECONDS = 1.0
"""How long a store may believe that policy is about no step: a new one holds steps from then on at the latest."""


@dataclass(frozen=True, kw_only=True)
class WrittenAs:
    """Under which name and version a state was saved."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"version {self.version} of {self.name!r}"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the hub is told of an agent's states. `schema` is canonical JSON."""

    written_as: WrittenAs
    schema: str


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A state between two steps: the step to run next, how many were before it, and what it is saved as.

    Without `id` it is not saved yet.
    """

    id: str
    node: str
    step: int
    state: str
    written_as: WrittenAs | None = None


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A tool call to ask for."""

    key: str
    tool: str
    arguments: str
    effect: Effect
    time_limit: int = 300  # seconds
    reason: str = ""
    evidence: Sequence[dict[str, Any]] = ()
    checks: Sequence[dict[str, Any]] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    allowed_decisions: Sequence[str] | None = None
    deadline: str | None = None  # ISO 8601 duration

    @property
    def is_plain_read(self) -> bool:
        """Whether nothing depends on it but what is read: no gate, no question, no effect."""
        return self.effect == "read" and not self.tool.startswith("rh.")


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The newest final answer to a call.

    `value` is what a person answered (`respond`), as text; `edited` says whether it is about arguments that a person
    changed, however that version came to run (approved, out of time, "it did not happen").
    """

    type: str
    by_kind: str
    by_name: str
    message: str = ""
    value: str | None = None
    edited: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call as it stands in the ledger."""

    id: str
    key: str
    tool: str
    state: str
    digest: str
    effect: Effect
    attempt: int = 0
    decision: Decided | None = None
    model_text: str = ""
    result: str | None = None
    error: str = ""
    partial: str | None = None


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A pause with its calls, in the order in which they were proposed. `checkpoint` is the id of what it stands on.

    `permit` is that of the first call, where it was begun in the commit of the pause.
    """

    id: str
    calls: tuple[Call, ...]
    checkpoint: str = ""
    permit: Permit | None = None


@dataclass(frozen=True, kw_only=True)
class Permit:
    """The right to run a call now, once. `arguments` are those that were decided, also when a person edited them."""

    arguments: str
    idempotency_key: str
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Next:
    """The call that is to begin when another one has ended, with the facts that it relies on as they are now."""

    call: Call
    facts: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A recorded result and the digest of what was asked for it."""

    digest: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What a branch recorded since some step, by key: results, and tool calls."""

    records: Mapping[str, Kept] = field(default_factory=dict)
    calls: Mapping[str, Call] = field(default_factory=dict)

    def places(self) -> set[str]:
        """The places in the agent's code."""
        return places_of(self.records, self.calls)


def places_of(records: Iterable[str], calls: Iterable[str]) -> set[str]:
    """The places in the agent's code, by the keys of records and calls: the calls of one pause share theirs."""
    return {*records, *(key.rpartition(".")[0] for key in calls)}


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """A step of a plan, perhaps with sub-steps; its `id` stays the same in later versions.

    `status` is pending, running, done, failed or skipped; None in what is written leaves it as it stands.
    """

    id: str
    title: str
    status: str | None = None
    steps: Sequence[PlanStep] = ()


@dataclass(frozen=True, kw_only=True)
class Intent:
    """A version of a plan to write. `assumptions`: id → text.

    Why it changed: `failures` in a row, the assumption (its id) that is `contradicted`, a person who `asked` for it, or
    as `because` says.
    """

    steps: Sequence[PlanStep]
    assumptions: Mapping[str, str] = field(default_factory=dict)
    because: str = ""
    failures: int | None = None
    contradicted: str | None = None
    asked: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The version of a branch's plan that is in force, its steps as they stand."""

    version: int
    steps: Sequence[PlanStep]
    assumptions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Signals:
    """What speaks against the plan in force (`version`, 0: there is none): see `wire.SignalsOut`."""

    version: int = 0
    failures: int = 0
    contradicted: str = ""
    because: str = ""
    refused: str = ""
    asked: str = ""


@dataclass(frozen=True, kw_only=True)
class ChildEnd:
    """How a child run ended: `child` is the key under which it was started, `result` canonical JSON if it is done."""

    child: str
    outcome: ChildOutcome
    result: str | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Where a branch stands: its head, or nothing but the run's input."""

    input: str
    snapshot: Snapshot | None


class Store(Protocol):
    """Keeps one branch."""

    def load(self) -> Loaded:
        """The head of the branch."""

    def declare(self, declaration: Declaration) -> None:
        """Says what the states are that are saved from now on.

        Raises:
            GraphError: another schema is known under this name and version, or this one is not acceptable.
        """

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Saves a snapshot as the new head."""

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """Asks for calls, or finds the pause that this branch made under the same key, as it stands now.

        When a call has to wait, the branch is given up: the process may not write for it any more. A snapshot without
        id is saved as the new head; where the store can, in the same commit.

        Args:
            begin: where the store can, the first call begins in that commit, too, if all of them may run at once.

        Raises:
            ReplayDiverged: the pause under this key asked for something else.
        """

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Uses the grant of an allowed call, or begins a new attempt of a `read` or `idempotent` one.

        Raises:
            AskedAgain: there is no right to run it any more.
        """

    def progress(self, call: Call, *, partial: str) -> None:
        """Keeps what a running tool has got so far."""

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
        """Writes down how an attempt of a call ended; `unknown` asks people and gives the branch up.

        Args:
            then: begun in the same commit where the store can and it may run; whose permit is the answer.
        """

    def kept(self, key: str) -> Kept | None:
        """A recorded result of this branch."""

    def keep(self, key: str, kept: Kept) -> None:
        """Records a result; the first one under a key stays."""

    def ledger(self, since: int) -> Ledger:
        """What this branch recorded at places of step `since` and later, as it stands now."""

    def places(self, since: int) -> set[str]:
        """The places of that ledger, for who need not know what is there."""

    def nearest(self, step: int) -> Snapshot | None:
        """The newest snapshot on the way to the head that is not after `step`; None when there is none."""

    def now(self) -> datetime:
        """The store's time, with its zone: what `sleep` compares with."""

    def sleep(self, *, until: str) -> bool:
        """Whether it is that time by the store's clock (ISO 8601). If not, the branch is given up until then."""

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Starts a child run of this branch, or finds the one that it started under the same key.

        Args:
            graph: which of the agent's graphs the child is.
            given: its input, canonical JSON.

        Raises:
            ReplayDiverged: the key was used for another graph or another input.
        """

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """How children ended, by the keys under which they were started, or all of the branch's own.

        None while one of them goes on: then the branch is given up until all have ended.

        Raises:
            GraphError: there is no such child.
        """

    def leave_thread(self) -> None:
        """Called in a thread that used this store beside the engine's and will not any more."""

    def plan(self) -> Plan | None:
        """The plan in force; None when there is none."""

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """Writes the next version and returns its number, or finds the one that this branch wrote under the same key.

        Args:
            call: the id of the consumed `rh.plan` with which people agreed to it.

        Raises:
            ApprovalNeeded: people have to agree first.
            PlanChanged: `base` is not in force (0: there is a plan already); None takes whatever is.
            ReplayDiverged: the key was used for another plan.
        """

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """Says how far a step of the plan in force is; what stands already changes nothing.

        Raises:
            PlanChanged: the plan in force has no such step, or there is none.
            GraphError: the step cannot come there from where it is.
        """

    def signals(self) -> Signals:
        """What speaks against the plan in force."""

    def judged(self, call: Call, came: Came) -> None:
        """Writes down what a verifier said of a call; the first one of a name stays."""

    def enter(self, *, node: str, step: int) -> str | None:
        """The arguments with which `rh.step/NODE` has to be asked for before a step; None where nobody is asked."""

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Ends the branch as succeeded.

        Args:
            call: the id of the consumed `rh.finish` with which people agreed to it.

        Raises:
            ApprovalNeeded: people have to agree first.
        """

    def fail(self, *, error: str) -> None:
        """Ends the branch as failed."""

    def heartbeat(self) -> None:
        """Says that this process is alive; raises Fenced when it need not go on."""
