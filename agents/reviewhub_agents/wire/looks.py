"""The later look at calls that ran without waiting: what people say of them, and what follows a flag."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Wire
from .checkpoints import Changes
from .enums import (
    CallStateField,
    FollowUpKind,
    FollowUpKindField,
    FollowUpStateField,
    LookStateField,
    LookVerdict,
    LookVerdictField,
    RiskField,
    SeverityField,
)
from .fields import MAX_BULK, Count, Id, Int, Json, Label, Name, Text, Time, Title
from .problems import Problem


class _Following(Wire):
    """What a follow-up needs: whom it is handed on to, or what a corrective branch begins with."""

    to: Id | None = Field(default=None, description="The member that an escalation hands it on to.")
    changes: Changes = []

    def _fits(self, kind: FollowUpKind | None) -> None:
        if (kind is FollowUpKind.ESCALATE) != (self.to is not None):
            raise ValueError("To escalate names whom it is handed on to, and nothing else does.")
        if self.changes and kind is not FollowUpKind.FORK:
            raise ValueError("Only a fork has changes.")


class GradeBody(_Following):
    """`POST /observations/{observation}/grade` with an Idempotency-Key. A flag has a severity, perhaps a follow-up."""

    verdict: LookVerdictField
    severity: SeverityField | None = None
    note: Text = ""
    follow_up: FollowUpKindField | None = None

    @model_validator(mode="after")
    def _fits_the_verdict(self) -> Self:
        flagged = self.verdict is LookVerdict.FLAGGED
        if flagged != (self.severity is not None):
            raise ValueError("A flag has a severity, and nothing else has one.")
        if self.follow_up is not None and not flagged:
            raise ValueError("Only a flag has a follow-up.")
        self._fits(self.follow_up)
        return self


class FollowUpBody(_Following):
    """`POST /observations/{observation}/follow-up` with an Idempotency-Key, of one that is flagged."""

    kind: FollowUpKindField
    note: Text = ""

    @model_validator(mode="after")
    def _fits_the_kind(self) -> Self:
        self._fits(self.kind)
        return self


class CloseFollowUpBody(Wire):
    """`POST /follow-ups/{follow_up}/close`: somebody has seen to it."""

    note: Text = ""


class FollowUpOut(Wire):
    """What followed a flag. `rule` is the guardrail that was suggested, as in a policy."""

    id: Id
    kind: FollowUpKindField
    state: FollowUpStateField
    by: Title
    to: Title | None = None
    branch: Id | None = None
    rule: Json = None
    note: Text = ""
    created_at: Time
    done_at: Time | None = None
    done_by: Title | None = None
    done_note: Text | None = None


class LookOut(Wire):
    """One call that was drawn. `because` says why it was; where a share is drawn, `number` is among the first `share`
    of 100. `sentence` says what it did."""

    id: Id
    run: Id
    branch: Name
    agent: Name
    environment: Label
    tool: Title
    sentence: Text
    risk: RiskField
    status: CallStateField
    ran_without_approval: bool
    checkpoint: Id | None = None
    state: LookStateField
    because: Text
    share: Count
    number: Count | None = None
    severity: SeverityField | None = None
    note: Text = ""
    by: Title | None = None
    drawn_at: Time
    reviewed_at: Time | None = None
    follow_ups: list[FollowUpOut] = []


class LookList(Wire):
    """`GET /observations`: those to look at, the worst first; others the newest verdict first."""

    items: list[LookOut]
    next: str | None = None


class BulkGrade(GradeBody):
    """One verdict of a batch; it names its call."""

    observation: Id


class BulkGradeBody(Wire):
    """`POST /observations/grade`: each in a transaction of its own."""

    grades: Annotated[list[BulkGrade], Field(min_length=1, max_length=MAX_BULK)]


class BulkGradeResult(Wire):
    """What became of one entry: its HTTP status, and the call or the problem."""

    observation: Id
    status: Int
    result: LookOut | None = None
    problem: Problem | None = None


class BulkGradeOut(Wire):
    """One result for each entry, in order."""

    results: list[BulkGradeResult]
