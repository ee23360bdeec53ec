"""The words that have one exact spelling on the wire."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from .fields import Lax


class Effect(StrEnum):
    """What running a tool twice would do."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    ONCE = "once"


class Risk(StrEnum):
    """How much harm a wrong call does."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class RunState(StrEnum):
    """Where a run stands; derived from its branches."""

    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"


class BranchState(StrEnum):
    """Where a branch stands."""

    RUNNING = "running"
    PAUSED = "paused"
    RESUMING = "resuming"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"


class ChildOutcome(StrEnum):
    """How a child run ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PauseState(StrEnum):
    """Whether any call of a pause still waits."""

    WAITING = "waiting"
    SETTLED = "settled"


class CallState(StrEnum):
    """Where a tool call stands."""

    PROPOSED = "proposed"
    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class RequestState(StrEnum):
    """Where a review request stands."""

    PENDING = "pending"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    RESPONDED = "responded"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    CANCELLED = "cancelled"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIPPED = "skipped"


class RequestKind(StrEnum):
    """What people are asked: may it run, or did it happen."""

    APPROVAL = "approval"
    UNKNOWN = "unknown"


class ResumptionState(StrEnum):
    """Where a resumption stands."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"


class DecisionType(StrEnum):
    """The final answer to a tool call."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"
    DENY = "deny"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    CANCEL = "cancel"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIP = "skip"


class Verdict(StrEnum):
    """What a person may decide: the first four on an approval, the others on an unknown outcome."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    SKIP = "skip"


class AllowedDecision(StrEnum):
    """What an agent may leave open to reviewers; reject is always possible."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    RESPOND = "respond"


class ByKind(StrEnum):
    """Who decided."""

    PERSON = "person"
    POLICY = "policy"
    TIMEOUT = "timeout"
    AGENT = "agent"
    SYSTEM = "system"


class OutcomeStatus(StrEnum):
    """How a tool ended, as its agent says."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class CheckStatus(StrEnum):
    """How a check of the agent's own came out. Who failed to check, or took too long, has found nothing good."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"
    TIMED_OUT = "timed_out"


class ResumeKind(StrEnum):
    """How a branch is woken: the agent polls, or a worker runs it on."""

    POLL = "poll"
    HOSTED = "hosted"


class ChangeOp(StrEnum):
    """One step of an edit."""

    SET = "set"
    INSERT = "insert"
    REMOVE = "remove"


class CheckpointKind(StrEnum):
    """How a checkpoint came to be."""

    SAVE = "save"
    FORK = "fork"
    REWRITE = "rewrite"


class PolicyOutcome(StrEnum):
    """What policy says to a tool call."""

    ALLOW = "allow"
    OBSERVE = "observe"
    REQUIRE = "require"
    DENY = "deny"


class StepStatus(StrEnum):
    """How far a step of a plan is."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class PlanWhyKind(StrEnum):
    """Why there is a new version of a plan."""

    FIRST = "first"
    FAILURES = "failures"
    CONTRADICTED = "contradicted"
    PERSON = "person"
    AGENT = "agent"
    RESTORED = "restored"
    FORKED = "forked"
    REWRITTEN = "rewritten"


class LookVerdict(StrEnum):
    """What somebody finds who looks at a call afterwards."""

    FINE = "fine"
    FLAGGED = "flagged"
    SKIPPED = "skipped"


class LookState(StrEnum):
    """Whether somebody has looked at a call that was drawn for it, and what they found."""

    DRAWN = "drawn"
    FINE = "fine"
    FLAGGED = "flagged"
    SKIPPED = "skipped"


class Severity(StrEnum):
    """How bad what was flagged is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class FollowUpKind(StrEnum):
    """What may follow a flag."""

    NOTIFY = "notify"
    DRAFT_RULE = "draft_rule"
    FORK = "fork"
    ESCALATE = "escalate"


class FollowUpState(StrEnum):
    """Whether somebody still has to see to it."""

    OPEN = "open"
    DONE = "done"


class PlanChoice(StrEnum):
    """Which plan a fork or a rewrite goes on with: the one in force, or the one of the checkpoint."""

    KEEP = "keep"
    CHECKPOINT = "checkpoint"


EffectField = Annotated[Effect, Lax]
RiskField = Annotated[Risk, Lax]
RunStateField = Annotated[RunState, Lax]
BranchStateField = Annotated[BranchState, Lax]
ChildOutcomeField = Annotated[ChildOutcome, Lax]
PauseStateField = Annotated[PauseState, Lax]
CallStateField = Annotated[CallState, Lax]
RequestStateField = Annotated[RequestState, Lax]
RequestKindField = Annotated[RequestKind, Lax]
ResumptionStateField = Annotated[ResumptionState, Lax]
DecisionTypeField = Annotated[DecisionType, Lax]
VerdictField = Annotated[Verdict, Lax]
AllowedDecisionField = Annotated[AllowedDecision, Lax]
ByKindField = Annotated[ByKind, Lax]
OutcomeStatusField = Annotated[OutcomeStatus, Lax]
CheckStatusField = Annotated[CheckStatus, Lax]
ResumeKindField = Annotated[ResumeKind, Lax]
ChangeOpField = Annotated[ChangeOp, Lax]
CheckpointKindField = Annotated[CheckpointKind, Lax]
PolicyOutcomeField = Annotated[PolicyOutcome, Lax]
StepStatusField = Annotated[StepStatus, Lax]
PlanWhyField = Annotated[PlanWhyKind, Lax]
PlanChoiceField = Annotated[PlanChoice, Lax]
LookVerdictField = Annotated[LookVerdict, Lax]
LookStateField = Annotated[LookState, Lax]
SeverityField = Annotated[Severity, Lax]
FollowUpKindField = Annotated[FollowUpKind, Lax]
FollowUpStateField = Annotated[FollowUpState, Lax]
