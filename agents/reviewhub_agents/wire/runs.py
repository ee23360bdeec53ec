"""Runs and branches: starting, holding, ending."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Wire
from .checkpoints import CheckpointIn, StatePreview
from .enums import (
    BranchStateField,
    CallStateField,
    ChildOutcomeField,
    EffectField,
    PauseStateField,
    ResumptionStateField,
    RunStateField,
)
from .fields import (
    Count,
    Digest,
    Duration,
    Epoch,
    Id,
    Json,
    JsonObjectText,
    Label,
    Labels,
    Name,
    Positive,
    RecordKey,
    Said,
    Text,
    Time,
    Title,
)


class RunStart(Wire):
    """`POST /runs`. The same `external_id` again answers with the same run."""

    external_id: Label | None = None
    title: Title = ""
    parent: Id | None = None
    on_behalf_of: Label = ""
    labels: Labels = {}
    input: Json = None
    retention_class: Annotated[
        Label,
        Field(
            description="One of the classes that admins made rules for; it can only lengthen what is kept."
        ),
    ] = ""


class ContinueFrom(Wire):
    """Where to go on after a person rewrote the state: the new branch's name and its checkpoint."""

    branch: Name
    checkpoint: Id
    branch_id: Id | None = None


class HaltOut(Wire):
    """Nothing starts for the branch until a person resumes it: `kind` is person, time or spend (a limit is used up)."""

    kind: Label
    reason: Text
    by: Name
    since: Time


class FailureOut(Wire):
    """An attempt to run a branch on that did not work out; `again_at` is when it was tried again, if it was to be."""

    branch: Name
    attempt: Positive
    error: Text
    at: Time
    again_at: Time | None = None


class BranchOut(Wire):
    """A branch: the unit that executes; `continue_from` when it was superseded.

    `plan` is the version of its plan that is in force.
    """

    id: Id
    name: Name
    state: BranchStateField
    head: Id | None = None
    epoch: Epoch = 0
    lease_until: Time | None = None
    pause: Id | None = None
    continue_from: ContinueFrom | None = None
    plan: Positive | None = None
    halt: HaltOut | None = None


class SpentOut(Wire):
    """What the recorded model calls of a run took, as their provider said. Money in millionths; a limit of 0 is any."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    spent_micros: Count = 0
    spend_limit_micros: Count = 0
    time_limit_seconds: Count = 0


class LimitsBody(Wire):
    """`POST /runs/{run}/limits`: what is left out stays as it is; 0 is no limit. It goes on the record."""

    spend_micros: Count | None = None
    seconds: Count | None = None
    reason: Said

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if self.spend_micros is None and self.seconds is None:
            raise ValueError("Say spend_micros, seconds or both; nothing else is set here.")
        return self


class ChildStart(Wire):
    """`POST /branches/{branch}/children`: a run of the same agent below this one. The same `key` is the same child."""

    key: RecordKey
    graph: Annotated[Name, Field(max_length=120)]
    input: Json = None
    title: Title = ""
    epoch: Epoch | None = None


class ChildOut(Wire):
    """A child run as the branch that started it sees it; `outcome` once it has ended, with `result` or `error`.

    `branch` works for it.
    """

    key: RecordKey
    graph: Name
    run: Id
    branch: Id
    state: BranchStateField
    outcome: ChildOutcomeField | None = None
    result: Json = None
    error: Text = ""


class WaitBody(Wire):
    """`POST /branches/{branch}/wait`: nothing to do before these children have ended; left out, all of the branch."""

    keys: list[RecordKey] | None = None
    epoch: Epoch | None = None


class WaitOut(Wire):
    """`over`: all have ended, and the branch is still the caller's. If not, it was given up until they have."""

    over: bool
    children: list[ChildOut] = []


class RunOut(Wire):
    """A run with its branches. `failures`: the newest twenty attempts of hosted branches that did not work out."""

    id: Id
    agent: Name
    environment: Label
    state: RunStateField
    external_id: Label | None = None
    title: Title = ""
    parent: Id | None = None
    on_behalf_of: Label = ""
    labels: Labels = {}
    retention_class: Label = ""
    input: Json = None
    result: Json = None
    error: Text = ""
    branches: list[BranchOut] = []
    graph: Label = ""
    children: list[ChildOut] = []
    failures: list[FailureOut] = []
    spent: SpentOut | None = None
    continue_from: ContinueFrom | None = None
    created_at: Time
    ended_at: Time | None = None
    url: str = ""


class RunRow(Wire):
    """A run in a list, without what it began and ended with."""

    id: Id
    agent: Name
    environment: Label
    state: RunStateField
    external_id: Label | None = None
    title: Title = ""
    on_behalf_of: Label = ""
    created_at: Time
    ended_at: Time | None = None
    url: str = ""


class RunList(Wire):
    """`GET /runs`, newest first; `next` is the cursor of the following page."""

    items: list[RunRow]
    next: str | None = None


class HostedStart(Wire):
    """`POST /agents/{agent}/runs`: a person starts a run of an agent that the server hosts.

    `input` is what its first state is made of, as its graph takes it.
    """

    input: Json = None
    title: Title = ""
    environment: Annotated[Label, Field(min_length=1, max_length=40)] = "production"


class ClaimBody(Wire):
    """`POST /branches/{branch}/claim`."""

    owner: Name | None = None
    lease: Duration | None = None


class ClaimOut(Wire):
    """The lease just taken; later writes carry `epoch`."""

    epoch: Epoch
    lease_until: Time
    branch: BranchOut | None = None


class HeartbeatBody(Wire):
    """`POST /branches/{branch}/heartbeat`: still alive."""

    epoch: Epoch | None = None
    lease: Duration | None = None


class HeartbeatOut(Wire):
    """What the branch is by now."""

    state: BranchStateField
    epoch: Epoch
    lease_until: Time | None = None
    continue_from: ContinueFrom | None = None


class FinishBody(Wire):
    """`POST /branches/{branch}/finish`: the branch did what it was for."""

    epoch: Epoch | None = None
    result: Json = None
    checkpoint: CheckpointIn | None = None
    call: Annotated[Id | None, Field(description="The consumed `rh.finish`, where people had to agree.")] = (
        None
    )


class EnterBody(Wire):
    """`POST /branches/{branch}/enter`: an agent is about to enter a step of its graph."""

    node: Annotated[Name, Field(max_length=100)]
    step: Count


class EnterOut(Wire):
    """`arguments_text`: what `rh.step/NODE` has to be asked with; left out, nobody has to be asked.

    `gated` says whether policy is about any step at all.
    """

    gated: bool
    arguments_text: JsonObjectText | None = None


class FailBody(Wire):
    """`POST /branches/{branch}/fail`: the branch cannot go on."""

    error: Text
    epoch: Epoch | None = None
    checkpoint: CheckpointIn | None = None


class CancelBody(Wire):
    """`POST /runs/{run}/cancel`: end all its branches."""

    reason: Text = ""


class RecordBody(Wire):
    """`PUT /branches/{branch}/records/{key}`: remember a result. The first value wins."""

    value: Json
    epoch: Epoch | None = None


class RecordOut(Wire):
    """The remembered value, and whether it was there before."""

    key: RecordKey
    value: Json
    existed: bool


class RecordList(Wire):
    """`GET /branches/{branch}/records`, newest first; `next` is the cursor of the following page."""

    items: list[RecordOut]
    next: str | None = None


class SleepBody(Wire):
    """`POST /branches/{branch}/sleep`: nothing to do before this time."""

    until: Time
    epoch: Epoch | None = None


class SleepOut(Wire):
    """`due`: that time has come, and the branch is still the caller's. If not, it was given up until then."""

    due: bool
    until: Time


class HandoverOut(Wire):
    """`GET /branches/{branch}/handover`: a note for the model that goes on, made from the record."""

    branch: Id
    text: str


class ResumptionOut(Wire):
    """A branch that its agent may go on with."""

    id: Id
    run: Id
    branch: Id
    branch_name: Name
    state: ResumptionStateField
    pause: Id | None = None
    pause_state: PauseStateField | None = None
    call_states: dict[str, CallStateField] = {}
    external_id: Label | None = None
    created_at: Time


class ResumptionList(Wire):
    """`GET /resumptions`."""

    items: list[ResumptionOut]


class ForkOut(Wire):
    """A new branch that starts at an older checkpoint."""

    run: Id
    branch: BranchOut
    checkpoint: Id

    @model_validator(mode="after")
    def _starts_there(self) -> Self:
        if self.branch.head not in (None, self.checkpoint):
            raise ValueError("The new branch's head is not its first checkpoint.")
        return self


class TouchedCall(Wire):
    """A tool call that a rewrite ends, or cannot undo."""

    id: Id
    tool: Name
    effect: EffectField
    state: CallStateField
    request: Count | None = None
    at: Time


class RewritePreview(Wire):
    """`GET /checkpoints/{checkpoint}/rewrite`: what a rewrite there would mean for the branch's tool calls.

    `withdrawn` wait, or were allowed and not used; they end. `under_way` and `unknown` stay, and their outcomes are
    taken. `done` ran after the checkpoint and will not be undone; `reads` of them only read and are counted. Of each
    list the newest hundred; `left_out` says how many are not listed.
    """

    branch: BranchOut
    withdrawn: list[TouchedCall]
    under_way: list[TouchedCall]
    unknown: list[TouchedCall]
    done: list[TouchedCall]
    reads: Count = 0
    left_out: Count = 0
    seen: Digest


class RewriteForeseen(RewritePreview):
    """`POST /checkpoints/{checkpoint}/rewrite/preview`: the same, and the state that the new branch would begin with.

    `plan` is the version that it would take along; left out when there is none.
    """

    state: StatePreview
    plan: Positive | None = None


class ForkForeseen(Wire):
    """`POST /checkpoints/{checkpoint}/fork/preview`: the state that the new branch would begin with, and what the old
    one goes on with all the same.

    Its calls that are `waiting` (or allowed and not used), `under_way` or `unknown` stay where they are; `done` ran
    after the checkpoint and will not be undone. Lists and `plan` as of a rewrite.
    """

    branch: BranchOut
    waiting: list[TouchedCall]
    under_way: list[TouchedCall]
    unknown: list[TouchedCall]
    done: list[TouchedCall]
    reads: Count = 0
    left_out: Count = 0
    state: StatePreview
    plan: Positive | None = None


class RewriteOut(ForkOut):
    """The new branch, and what became of the old one: what `RewritePreview` tells, as it was at that moment."""

    old: RewritePreview
