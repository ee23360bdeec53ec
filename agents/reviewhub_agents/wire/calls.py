"""Tool calls: what an agent proposes, what was decided, and what became of it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from reviewhub_agents.canonical import Tree, dumps, reread

from .base import Wire
from .budgets import FieldWarnings
from .checkpoints import CheckpointIn, CheckpointRef
from .enums import (
    AllowedDecisionField,
    ByKindField,
    CallStateField,
    CheckStatusField,
    DecisionTypeField,
    Effect,
    EffectField,
    OutcomeStatus,
    OutcomeStatusField,
    RequestKind,
    RequestKindField,
    RequestStateField,
    VerdictField,
)
from .fields import (
    MAX_ITEMS,
    Count,
    Digest,
    Duration,
    Epoch,
    Id,
    Json,
    JsonObject,
    JsonObjectText,
    Label,
    Labels,
    Name,
    Positive,
    Said,
    Text,
    Time,
    Title,
    WebAddress,
)
from .runs import ContinueFrom


class Evidence(Wire):
    """Something that supports the proposal: a link or a text."""

    title: Title
    url: WebAddress | None = None
    text: Text | None = None


class Check(Wire):
    """A check the agent made itself: a claim, not a fact. `source` says by what: a function or a model of its own."""

    name: Title
    status: CheckStatusField
    detail: Text = ""
    source: Label = ""


class Arguments(Wire):
    """A tool and its arguments, as a value or as its exact JSON text."""

    tool: Name
    arguments: JsonObject | None = None
    arguments_text: JsonObjectText | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.arguments is None) == (self.arguments_text is None):
            raise ValueError("Give exactly one of arguments and arguments_text.")
        return self

    @property
    def arguments_tree(self) -> dict[str, Tree]:
        """The arguments with exact numbers, whichever way they were given. Raises `BadJson`."""
        tree = reread(self.canonical_arguments)
        assert isinstance(tree, dict)
        return tree

    @property
    def canonical_arguments(self) -> str:
        """The arguments' canonical text. Raises `BadJson`."""
        return dumps(self.arguments if self.arguments_text is None else reread(self.arguments_text))


class ToolCallIn(Arguments):
    """One call an agent proposes. `effect` may only strengthen what the registered tool says."""

    call_id: Label = ""
    effect: EffectField | None = None
    reason: Text = ""
    evidence: Annotated[list[Evidence], Field(max_length=MAX_ITEMS)] = []
    checks: Annotated[list[Check], Field(max_length=MAX_ITEMS)] = []
    facts: JsonObject = {}
    labels: Labels = {}
    allowed_decisions: list[AllowedDecisionField] | None = None
    deadline: Duration | None = None


class Because(Wire):
    """Why policy answered as it did."""

    kind: Name
    text: Text
    policy_version: Count = 0
    rule: Title | None = None


class RequestOut(Wire):
    """The request that waits for people, in short."""

    id: Id
    number: Positive
    url: str
    kind: RequestKindField = RequestKind.APPROVAL
    state: RequestStateField | None = None
    deadline_at: Time | None = None


class By(Wire):
    """Who decided; `name` is empty when nobody did."""

    kind: ByKindField
    name: Title = ""


class DecisionOut(Wire):
    """The final answer to a call. `value` is given for respond (any JSON) and happened (the result).

    `by` is whose vote was the last; `edited_by` made the version that was decided on, where a person did.
    """

    type: DecisionTypeField
    by: By
    decided_at: Time
    edited: bool = False
    edited_by: Title | None = None
    arguments: JsonObject | None = None
    value: Json = None
    message: Text = ""
    policy_version: Count = 0


class GrantOut(Wire):
    """The single-use right to run one exact call; its time starts when the pause settles."""

    id: Id
    digest: Digest
    expires_at: Time | None = None


class VoteOut(Wire):
    """One person's verdict on one version, for which teams, and in whose place if in somebody's."""

    name: Title
    type: VerdictField
    version: Positive
    at: Time
    for_teams: Text = ""
    in_place_of: Title = ""


class QuestionOut(Wire):
    """What a reviewer asks the agent."""

    id: Id
    text: Text
    asked_by: Title
    asked_at: Time
    answer: Text | None = None
    answered_at: Time | None = None
    request: Id | None = None
    tool_call: Id | None = None
    run: Id | None = None


class QuestionList(Wire):
    """`GET /questions`: those still open."""

    items: list[QuestionOut]


class AnswerBody(Wire):
    """`POST /questions/{question}/answer`."""

    text: Said


class ToolCallOut(Wire):
    """A tool call as its agent sees it."""

    id: Id
    tool: Name
    state: CallStateField
    digest: Digest
    call_id: Label = ""
    version: Positive = 1
    effect: EffectField = Effect.ONCE
    attempt: Count = 0
    request: RequestOut | None = None
    because: Because | None = None
    decision: DecisionOut | None = None
    grant: GrantOut | None = None
    message: Text = ""
    model_text: Text = ""
    votes: list[VoteOut] = []
    questions: list[QuestionOut] = []
    result: Json = None
    error: Text | None = None
    partial: Json = None
    ran_without_approval: bool = False
    continue_from: ContinueFrom | None = None


class ToolCallList(Wire):
    """`GET /branches/{branch}/tool-calls`, newest first; `next` is the cursor of the following page."""

    items: list[ToolCallOut]
    next: str | None = None


class ConsumeBody(Wire):
    """`POST /tool-calls/{call}/consume`: about to run it. The idempotency key lives in memory only."""

    digest: Digest
    facts: JsonObject = {}
    epoch: Epoch | None = None


class ConsumeOut(Wire):
    """Exactly what to run; `arguments_text` is what was hashed."""

    arguments: JsonObject
    arguments_text: JsonObjectText
    tool_idempotency_key: Name
    attempt: Positive


class ProgressBody(Wire):
    """`POST /tool-calls/{call}/progress`: it runs, this far."""

    partial: Json


class HowItEnded(Wire):
    """A call's end: its result, its error, or what there is of it when nobody knows."""

    status: OutcomeStatusField
    result: Json = None
    error: Text | None = None
    partial: Json = None

    @model_validator(mode="after")
    def _fits_the_status(self) -> Self:
        if self.status is OutcomeStatus.FAILED and not self.error:
            raise ValueError("A failed call needs an error.")
        if self.status is OutcomeStatus.SUCCEEDED and self.error:
            raise ValueError("A call that succeeded has no error.")
        if self.status is not OutcomeStatus.SUCCEEDED and self.was_given("result"):
            raise ValueError("Only a call that succeeded has a result; use partial.")
        return self


class OutcomeBody(HowItEnded):
    """`POST /tool-calls/{call}/outcome`: how it ended; outcome and checkpoint are one commit."""

    checkpoint: CheckpointIn | None = None
    attempt: Positive | None = None


class OutcomeOut(Wire):
    """What the ledger says by now."""

    id: Id
    state: CallStateField
    checkpoint: CheckpointRef | None = None
    request: RequestOut | None = None
    continue_from: ContinueFrom | None = None
    warnings: FieldWarnings = []
