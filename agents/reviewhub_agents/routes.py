"""Every route an agent calls, described once: the functions here say what to send and what comes back.

`Client` and `AsyncClient` have a method for each, with the same arguments. POST requests carry an idempotency
key, the same one however often the request has to be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

from reviewhub_agents import wire

T = TypeVar("T", bound=wire.Wire)
MAX_WAIT = 60
"""Longest wait of one long poll, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """One request and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    body: wire.Wire | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    key: str | None = field(default=None, repr=False)
    wait: float = 0

    def __post_init__(self) -> None:
        if not 0 <= self.wait <= MAX_WAIT:
            raise ValueError(f"A wait of {self.wait:g} seconds is not between 0 and {MAX_WAIT}.")


def _path(*parts: str | UUID) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def _get(path: str, answer: type[T], /, *, wait: float = 0, **query: str | None) -> Call[T]:
    given = {name: value for name, value in query.items() if value is not None}
    if wait:
        given["wait"] = f"{wait:g}"
    return Call(method="GET", path=path, answer=answer, query=given, wait=wait)


def _post(path: str, answer: type[T], body: wire.Wire | None = None, *, key: str | None = None) -> Call[T]:
    return Call(method="POST", path=path, answer=answer, body=body, key=key or uuid4().hex)


def start_run(body: wire.RunStart) -> Call[wire.RunOut]:
    """Start a run, or find the one that has this `external_id`."""
    return _post("/runs", wire.RunOut, body)


def get_run(run: UUID) -> Call[wire.RunOut]:
    """A run with its branches."""
    return _get(_path("runs", run), wire.RunOut)


def cancel_run(run: UUID, body: wire.CancelBody) -> Call[wire.RunOut]:
    """End all branches of a run."""
    return _post(_path("runs", run, "cancel"), wire.RunOut, body)


def pause(run: UUID, body: wire.PauseBody, *, key: str | None = None) -> Call[wire.PauseOut]:
    """Stop before one or more tool calls. The same `key` and body again find the same pause, also after a restart."""
    return _post(_path("runs", run, "pauses"), wire.PauseOut, body, key=key)


def get_pause(pause: UUID, *, wait: float = 0) -> Call[wire.PauseOut]:
    """A pause as it stands; with `wait` (seconds) the answer comes when something happened, or then."""
    return _get(_path("pauses", pause), wire.PauseOut, wait=wait)


def consume(call: UUID, body: wire.ConsumeBody) -> Call[wire.ConsumeOut]:
    """About to run an allowed call. Its key is random and only in memory: a restarted process can never repeat it."""
    return _post(_path("tool-calls", call, "consume"), wire.ConsumeOut, body)


def progress(call: UUID, body: wire.ProgressBody) -> Call[wire.ToolCallOut]:
    """How far a started call is."""
    return _post(_path("tool-calls", call, "progress"), wire.ToolCallOut, body)


def outcome(call: UUID, body: wire.OutcomeBody) -> Call[wire.OutcomeOut]:
    """How a started call ended; the same outcome again changes nothing."""
    return _post(_path("tool-calls", call, "outcome"), wire.OutcomeOut, body)


def withdraw(call: UUID) -> Call[wire.ToolCallOut]:
    """Ask a waiting call back."""
    return _post(_path("tool-calls", call, "withdraw"), wire.ToolCallOut)


def observe(run: UUID, body: wire.ObservationBody, *, key: str | None = None) -> Call[wire.ObservationOut]:
    """Record calls that ran already. The same `key` and body again record nothing new."""
    return _post(_path("runs", run, "observations"), wire.ObservationOut, body, key=key)


def save_checkpoint(
    run: UUID, body: wire.CheckpointSave, *, key: str | None = None
) -> Call[wire.CheckpointOut]:
    """Save the state without a pause."""
    return _post(_path("runs", run, "checkpoints"), wire.CheckpointOut, body, key=key)


def list_checkpoints(
    run: UUID, *, cursor: str | None = None, branch: str | None = None
) -> Call[wire.CheckpointList]:
    """A run's checkpoints, newest first; `cursor` is the `next` of the page before.

    With `branch` those that lead to the head of this branch, across forks.
    """
    return _get(_path("runs", run, "checkpoints"), wire.CheckpointList, cursor=cursor, branch=branch)


def get_checkpoint(
    checkpoint: UUID, *, state: Literal["full", "fields", "none"] = "full"
) -> Call[wire.CheckpointOut]:
    """One checkpoint, with its whole state, the hashes of its fields, or neither."""
    return _get(_path("checkpoints", checkpoint), wire.CheckpointOut, state=state)


def difference(checkpoint: UUID, other: UUID) -> Call[wire.DifferenceOut]:
    """What differs in `other`, a checkpoint of the same run."""
    return _get(_path("checkpoints", checkpoint, "difference", other), wire.DifferenceOut)


def blame(checkpoint: UUID, path: str, *, before: str | None = None) -> Call[wire.BlameOut]:
    """Which checkpoint up to this one last changed the value at `path`, a JSON pointer.

    Args:
        before: that of the answer before, to look further back.
    """
    return _get(_path("checkpoints", checkpoint, "blame"), wire.BlameOut, path=path, before=before)


def find(checkpoint: UUID, body: wire.FindBody) -> Call[wire.FindOut]:
    """Which checkpoint up to this one introduced a value, and which one lost it."""
    return _post(_path("checkpoints", checkpoint, "find"), wire.FindOut, body)


def budget(run: UUID, *, branch: str | None = None) -> Call[wire.BudgetOut]:
    """What the state at the head of a branch (`main`) weighs, by field, and what is above its budget."""
    return _get(_path("runs", run, "budget"), wire.BudgetOut, branch=branch)


def goodput(run: UUID) -> Call[wire.GoodputOut]:
    """Where the time of a run went: useful, replay, recovery, checkpoints, waiting."""
    return _get(_path("runs", run, "goodput"), wire.GoodputOut)


def fork(checkpoint: UUID, body: wire.ForkBody, *, key: str | None = None) -> Call[wire.ForkOut]:
    """A new branch that goes on from a checkpoint."""
    return _post(_path("checkpoints", checkpoint, "fork"), wire.ForkOut, body, key=key)


def preview_fork(checkpoint: UUID, body: wire.ForkBody) -> Call[wire.ForkForeseen]:
    """What such a fork would begin with, and what its branch did since; nothing is stored."""
    return _post(_path("checkpoints", checkpoint, "fork", "preview"), wire.ForkForeseen, body)


def write_plan(run: UUID, body: wire.PlanBody, *, key: str | None = None) -> Call[wire.PlanOut]:
    """A new version of a branch's plan. The same `key` and plan again find the version that was written."""
    return _post(_path("runs", run, "plans"), wire.PlanOut, body, key=key)


def list_plans(run: UUID, *, cursor: str | None = None) -> Call[wire.PlanList]:
    """The versions of a run's plans on all branches, newest first; `cursor` is the `next` of the page before."""
    return _get(_path("runs", run, "plans"), wire.PlanList, cursor=cursor)


def get_plan(run: UUID, version: int) -> Call[wire.PlanOut]:
    """One version with its steps as they stand now. `BranchOut.plan` says which one is in force."""
    return _get(_path("runs", run, "plans", str(version)), wire.PlanOut)


def mark_steps(run: UUID, version: int, body: wire.MarksBody) -> Call[wire.PlanOut]:
    """How far steps of the version in force are; what stands already changes nothing."""
    return _post(_path("runs", run, "plans", str(version), "marks"), wire.PlanOut, body)


def list_marks(run: UUID, version: int, *, cursor: str | None = None) -> Call[wire.MarkList]:
    """How the steps of a version came to where they are, newest first."""
    return _get(_path("runs", run, "plans", str(version), "marks"), wire.MarkList, cursor=cursor)


def plan_difference(run: UUID, version: int, other: int) -> Call[wire.PlanDifferenceOut]:
    """What differs in version `other` of a plan."""
    return _get(_path("runs", run, "plans", str(version), "difference", str(other)), wire.PlanDifferenceOut)


def claim_branch(branch: UUID, body: wire.ClaimBody) -> Call[wire.ClaimOut]:
    """Take the lease of a branch: from now on its writes carry the new epoch."""
    return _post(_path("branches", branch, "claim"), wire.ClaimOut, body)


def heartbeat(branch: UUID, body: wire.HeartbeatBody) -> Call[wire.HeartbeatOut]:
    """Still alive; also tells of a rewrite."""
    return _post(_path("branches", branch, "heartbeat"), wire.HeartbeatOut, body)


def finish(branch: UUID, body: wire.FinishBody) -> Call[wire.BranchOut]:
    """The branch did what it was for."""
    return _post(_path("branches", branch, "finish"), wire.BranchOut, body)


def enter(branch: UUID, body: wire.EnterBody) -> Call[wire.EnterOut]:
    """Whether a step of the agent's graph may be entered without asking."""
    return _post(_path("branches", branch, "enter"), wire.EnterOut, body)


def signals(branch: UUID) -> Call[wire.SignalsOut]:
    """What speaks against the branch's plan in force."""
    return _get(_path("branches", branch, "signals"), wire.SignalsOut)


def give_verdict(call: UUID, body: wire.VerdictBody) -> Call[wire.VerdictOut]:
    """What a verifier of the agent's own says of a call; the first verdict of a name stays."""
    return _post(_path("tool-calls", call, "verdicts"), wire.VerdictOut, body)


def fail(branch: UUID, body: wire.FailBody) -> Call[wire.BranchOut]:
    """The branch cannot go on."""
    return _post(_path("branches", branch, "fail"), wire.BranchOut, body)


def handover(branch: UUID) -> Call[wire.HandoverOut]:
    """A note for the model that goes on with the branch, made from the record."""
    return _get(_path("branches", branch, "handover"), wire.HandoverOut)


def record(branch: UUID, name: str, body: wire.RecordBody) -> Call[wire.RecordOut]:
    """Remember a result under a name; the first value wins and comes back."""
    return Call(
        method="PUT", path=_path("branches", branch, "records", name), answer=wire.RecordOut, body=body
    )


def get_record(branch: UUID, name: str) -> Call[wire.RecordOut]:
    """What is remembered under a name."""
    return _get(_path("branches", branch, "records", name), wire.RecordOut)


def list_records(branch: UUID, *, cursor: str | None = None) -> Call[wire.RecordList]:
    """What a branch remembers, newest first; `cursor` is the `next` of the page before."""
    return _get(_path("branches", branch, "records"), wire.RecordList, cursor=cursor)


def list_tool_calls(branch: UUID, *, cursor: str | None = None) -> Call[wire.ToolCallList]:
    """The tool calls of a branch, newest first; `cursor` is the `next` of the page before."""
    return _get(_path("branches", branch, "tool-calls"), wire.ToolCallList, cursor=cursor)


def sleep(branch: UUID, body: wire.SleepBody) -> Call[wire.SleepOut]:
    """Give a branch up until a time; it is in `resumptions` then. Nothing happens when that has come."""
    return _post(_path("branches", branch, "sleep"), wire.SleepOut, body)


def start_child(branch: UUID, body: wire.ChildStart) -> Call[wire.ChildOut]:
    """Start a run below this one; the same key again answers with the same child."""
    return _post(_path("branches", branch, "children"), wire.ChildOut, body)


def wait_for(branch: UUID, body: wire.WaitBody) -> Call[wire.WaitOut]:
    """How child runs ended, or give the branch up until they have; it is in `resumptions` then."""
    return _post(_path("branches", branch, "wait"), wire.WaitOut, body)


def register_tool(name: str, body: wire.ToolRegister) -> Call[wire.ToolOut]:
    """Describe a tool; again with the same description changes nothing."""
    return Call(method="PUT", path=_path("tools", name), answer=wire.ToolOut, body=body)


def register_state(name: str, version: int, body: wire.StateSchemaIn) -> Call[wire.StateSchemaOut]:
    """Register the schema of a state; again with the same schema changes nothing, with another is refused."""
    path = _path("states", name, str(version))
    return Call(method="PUT", path=path, answer=wire.StateSchemaOut, body=body)


def get_state_schema(name: str, version: int) -> Call[wire.StateSchemaOut]:
    """The schema that this agent registered under a name and version."""
    return _get(_path("states", name, str(version)), wire.StateSchemaOut)


def explain(body: wire.ExplainBody) -> Call[wire.ExplainOut]:
    """What policy would say to a call; nothing is stored."""
    return _post("/policy/explain", wire.ExplainOut, body)


def resumptions(*, wait: float = 0) -> Call[wire.ResumptionList]:
    """The branches this agent may go on with."""
    return _get("/resumptions", wire.ResumptionList, wait=wait)


def questions(*, wait: float = 0) -> Call[wire.QuestionList]:
    """What reviewers ask this agent."""
    return _get("/questions", wire.QuestionList, wait=wait)


def answer(question: UUID, body: wire.AnswerBody) -> Call[wire.QuestionOut]:
    """Answer a reviewer's question."""
    return _post(_path("questions", question, "answer"), wire.QuestionOut, body)
