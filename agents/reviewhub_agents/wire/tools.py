"""The registry of tools, and asking policy without acting."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .calls import Arguments, Because, Check
from .enums import Effect, EffectField, PolicyOutcomeField, RiskField
from .fields import MAX_ITEMS, Count, Digest, Duration, JsonObject, Label, Labels, Name, Positive, Text, Title


class Retry(Wire):
    """How often a failed read or idempotent call may be tried, and the wait before the first repeat."""

    attempts: Annotated[Positive, Field(le=100)] = 1
    wait: Duration | None = None


class ToolRegister(Wire):
    """`PUT /tools/{name}`: what the agent says of its tool. Sentence and risk are the admins'."""

    parameters: JsonObject | None = Field(
        default=None, alias="schema", description="JSON Schema of the arguments."
    )
    result_schema: JsonObject | None = None
    effect: EffectField = Effect.ONCE
    time_limit: Duration | None = None
    retry: Retry | None = None
    description: Text = ""


class ToolOut(Wire):
    """A tool as registered."""

    name: Name
    effect: EffectField
    risk: RiskField
    parameters: JsonObject | None = Field(
        default=None, alias="schema", description="JSON Schema of the arguments."
    )
    result_schema: JsonObject | None = None
    time_limit: Duration | None = None
    retry: Retry | None = None
    description: Text = ""
    sentence: Text = ""
    fingerprint: Digest | None = None
    registered: bool = True


class ExplainBody(Arguments):
    """`POST /policy/explain`: what would policy say to this call? Nothing is stored."""

    effect: EffectField | None = None
    checks: Annotated[list[Check], Field(max_length=MAX_ITEMS)] = []
    labels: Labels = {}
    facts: JsonObject = {}


class StageOut(Wire):
    """One team and how many of it have to approve. A stage is asked after the one before it, or `together` with it.

    Of a request, `approved_by` are those whose approvals it rests on so far, and `asked` says whether it is its turn.
    """

    team: Title
    approvals: Positive
    together: bool = False
    approved_by: list[Title] = []
    asked: bool = False


class EscalationOut(Wire):
    """Whom a step adds when nobody answers, and how long after the request."""

    after: Duration
    to: Title
    managers: bool = False
    taken: bool = False


class RequirementOut(Wire):
    """The sign-off that a call needs. `team` is the one that is asked first, `approvals` are those of all stages."""

    team: Title
    approvals: Positive
    stages: list[StageOut] = []
    denials: Positive = 1
    deadline: Duration | None = None
    on_timeout: Annotated[str, Field(pattern="^(deny|allow)$")] = "deny"
    four_eyes: bool = False
    locked_fields: list[Label] = []
    sign_in_minutes: Positive | None = None
    typed_confirmation: bool = False
    reminder: Duration | None = None
    escalation: list[EscalationOut] = []


class PartOut(Wire):
    """What one part of a rule (tool, agent, environment, a condition, …) said. `holds` null: it cannot be decided."""

    what: Name
    holds: bool | None
    why: Text


class StepOut(Wire):
    """What one rule said. `matched` null: it cannot be decided. `answers`: the answer is this one's."""

    layer: Annotated[str, Field(pattern="^(guardrail|limit|rejection|standing|rule)$")]
    position: Positive
    rule: Title
    action: PolicyOutcomeField
    matched: bool | None
    why: Text
    answers: bool = False
    parts: list[PartOut] = []


class ExplainOut(Wire):
    """What policy would answer, and why."""

    outcome: PolicyOutcomeField
    because: Because
    policy_version: Count = 0
    requirement: RequirementOut | None = None
    by_then: bool | None = None
    steps: list[StepOut] = []
