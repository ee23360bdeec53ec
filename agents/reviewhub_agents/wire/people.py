"""What people send and see: decisions, comments, questions, the whole request."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import Wire
from .calls import Because, Check, DecisionOut, Evidence, QuestionOut, VoteOut
from .checkpoints import Changes
from .enums import (
    EffectField,
    RequestKindField,
    RequestStateField,
    RiskField,
    Verdict,
    VerdictField,
)
from .fields import (
    MAX_BULK,
    Count,
    Digest,
    Id,
    Int,
    Json,
    JsonObject,
    Label,
    Labels,
    Name,
    Positive,
    Said,
    Text,
    Time,
    Title,
)
from .problems import Problem
from .tools import RequirementOut

MAX_CONDITIONS = 20
MAX_EXPRESSION = 1000
_WITH_VALUE = frozenset({Verdict.RESPOND, Verdict.HAPPENED})


class Remember(Wire):
    """Let an approval stand: calls of the same tool by the same agent in the same environment go through, too.

    `bounds`: `exact` covers the same arguments only, `within` what all of `when` (tests as in a rule) and `expression`
    (CEL) hold for, `any` every call of the tool. `until` is 30 days from now unless said, a year at most.
    """

    scope: Annotated[str, Field(pattern="^(agent|run)$")] = "agent"
    bounds: Annotated[str, Field(pattern="^(exact|within|any)$")] = "exact"
    when: Annotated[list[Json], Field(max_length=MAX_CONDITIONS)] = []
    expression: Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION)] | None = None
    until: Time | None = None
    uses: Annotated[Int, Field(ge=1, le=1_000_000)] | None = None


class DecideBody(Wire):
    """`POST /requests/{request}/decide` with an Idempotency-Key. `version` and `digest` are those shown.

    `value` is the answer of a respond (any JSON: also null, false, 0 and ""), or the result of a call that
    happened; `was_given("value")` tells an answer null from no answer. A rejection needs a `message`, an approval of
    a request that has a `confirm_with` needs `confirm`; else it is refused with 422.
    """

    type: VerdictField
    version: Positive
    digest: Digest
    changes: Changes = []
    value: Json = None
    message: Text = Field(default="", description="What the agent is told. A rejection says something here.")
    note: Text = ""
    reason: Annotated[str, Field(max_length=80)] = Field(
        default="",
        description="Of a rejection: the name of a preset reason. Its words come before those of `message`.",
    )
    confirm: Label | None = Field(
        default=None,
        description="The request's `confirm_with`, or after an edit the word that the refusal names.",
    )
    remember: Remember | None = None

    @model_validator(mode="after")
    def _fits_the_type(self) -> Self:
        if (self.type is Verdict.EDIT) != bool(self.changes):
            raise ValueError("An edit needs changes, and nothing else has them.")
        if self.type is Verdict.RESPOND and not self.was_given("value"):
            raise ValueError("A respond needs a value; it may be any JSON, also null.")
        if self.type not in _WITH_VALUE and self.was_given("value"):
            raise ValueError("Only respond and happened have a value.")
        if self.reason and self.type is not Verdict.REJECT:
            raise ValueError("Only a rejection has a reason.")
        if self.remember is not None and self.type is not Verdict.APPROVE:
            raise ValueError("Only an approval can be remembered.")
        return self


class DecideOut(Wire):
    """Where the request stands after this vote."""

    state: RequestStateField
    counted: bool
    needed: Count
    version: Positive
    decision: DecisionOut | None = None
    standing: Id | None = None


class BulkDecision(DecideBody):
    """One decision of a bulk; it names its request."""

    request: Id


class BulkDecideBody(Wire):
    """`POST /requests/decide`. What one list lets run is of one tool, and of low risk without a failed check."""

    decisions: Annotated[list[BulkDecision], Field(min_length=1, max_length=MAX_BULK)]


class BulkResult(Wire):
    """What became of one entry: its HTTP status, and the result or the problem."""

    request: Id
    status: Int
    result: DecideOut | None = None
    problem: Problem | None = None


class BulkDecideOut(Wire):
    """One result for each entry, in order."""

    results: list[BulkResult]


class AskBody(Wire):
    """`POST /requests/{request}/ask`: ask the agent; the request stays pending."""

    text: Said


class CommentBody(Wire):
    """`POST /requests/{request}/comment`: for the other reviewers."""

    text: Said


class ClaimRequestBody(Wire):
    """`POST /requests/{request}/claim`; `take_over` also when somebody else's claim still holds."""

    take_over: bool = False


class HandOverBody(Wire):
    """`POST /requests/{request}/hand-over`: to whom, by their member id, and what they should know."""

    to: Id
    note: Text = ""


class SnoozeBody(Wire):
    """`POST /requests/{request}/snooze`: for so many minutes, up to three days; 0 ends it."""

    minutes: Annotated[Int, Field(ge=0, le=4320)]


class Reason(Wire):
    """A reason for rejections that admins preset: its name, and what the agent is told."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    text: Text


class ReasonList(Wire):
    """`GET /reasons`, in the order in which they are offered."""

    items: list[Reason]


class WhyBody(Wire):
    """Why a run is held, halted or resumed, a branch retried, a checkpoint pinned; it goes on the record."""

    reason: Said


class KeptOut(Wire):
    """A hold or a pin: why, by whom, since when."""

    reason: Text
    by: Label
    since: Time


class RevealBody(Wire):
    """`POST /requests/{request}/reveal`: why somebody looks at what is hidden; it goes on the record."""

    reason: Said


class RevealedValue(Wire):
    """One value that is masked everywhere else, with its JSON pointer into the arguments."""

    path: Text
    value: Json


class RevealOut(Wire):
    """The hidden values of a call's arguments in the version that is asked about now."""

    version: Positive
    digest: Digest
    values: list[RevealedValue]


class CommentOut(Wire):
    """A comment as written."""

    id: Id
    name: Title
    text: Text
    at: Time


class RequestRow(Wire):
    """A request as the queue shows it."""

    id: Id
    number: Positive
    kind: RequestKindField
    state: RequestStateField
    version: Positive
    digest: Digest
    tool: Name
    agent: Name
    environment: Label
    risk: RiskField
    sentence: Text
    run: Id
    tool_call: Id
    url: str
    approvals: Count = 0
    approvals_needed: Positive = 1
    waits_for: Text = ""
    failed_checks: Count = 0
    deadline_at: Time | None = None
    claimed_by: Title | None = None
    claimed_until: Time | None = None
    created_at: Time
    decided_at: Time | None = None
    decided_by: Title | None = None
    edited_by: Title | None = None


class RequestList(Wire):
    """`GET /requests`; `next` is the cursor of the following page."""

    items: list[RequestRow]
    next: str | None = None


class RequestDetail(RequestRow):
    """`GET /requests/{request}`: everything that a decision rests on."""

    effect: EffectField
    call_id: Label = ""
    arguments: JsonObject
    original_arguments: JsonObject | None = None
    parameters: JsonObject | None = Field(
        default=None, alias="schema", description="JSON Schema of the arguments."
    )
    reason: Text = ""
    evidence: list[Evidence] = []
    checks: list[Check] = []
    facts: JsonObject = {}
    labels: Labels = {}
    allowed_decisions: list[VerdictField] = Field(
        default=[], description="The answers that it takes; of what became of an unknown call, too."
    )
    because: Because | None = None
    requirement: RequirementOut | None = None
    confirm_with: Title | None = Field(
        default=None, description="What `confirm` has to say when this is approved."
    )
    checkpoint: Id | None = None
    branch: Id | None = None
    on_timeout: Name = "deny"
    again_of: Id | None = None
    partial: Json = None
    votes: list[VoteOut] = []
    comments: list[CommentOut] = []
    questions: list[QuestionOut] = []
    decision: DecisionOut | None = None
