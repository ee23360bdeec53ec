"""A policy as data: conditions, rules, and the two layers that they stand in. Pure."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, WithJsonSchema, model_validator

from reviewhub.policies.index import Index
from reviewhub.policies.limit import Limit, WaitingLimit
from reviewhub.policies.requirement import (
    MOST_STAGES,
    MOST_STEPS,
    VERDICTS,
    Approvals,
    Data,
    Escalation,
    Minutes,
    Name,
    OnTimeout,
    Path,
    Seconds,
    Stage,
    Verdict,
    fault,
)

Action = Literal["allow", "observe", "require", "deny"]
Test = Literal[
    "is", "is_not", "is_over", "is_at_least", "is_under", "is_at_most", "contains", "contains_not", "starts_with",
    "ends_with", "is_one_of", "is_none_of", "is_there", "is_missing",
]  # fmt: skip
EFFECTS = ("read", "idempotent", "once")
NUMBER_TESTS = ("is_over", "is_at_least", "is_under", "is_at_most")
TEXT_TESTS = ("contains", "contains_not", "starts_with", "ends_with")
LIST_TESTS = ("is_one_of", "is_none_of")
PRESENCE_TESTS = ("is_there", "is_missing")
MAX_EXPRESSION = 1000
MAX_VALUE = 1000
"""Characters of a text that a condition compares with; checked by `policies.text_lengths`, said by the schema."""
MOST_VALUES = 100
PLAN_STEP = "plan_step"
"""The variable of expressions that says in which step of an approved plan a call is."""

Words = Annotated[str, WithJsonSchema({"type": "string", "maxLength": MAX_VALUE})]
Value = bool | int | float | Words
_ONLY_REQUIRE = (
    "team", "approvals", "stages", "deny_threshold", "deadline_seconds", "on_timeout", "allowed_decisions", "four_eyes",
    "locked_fields", "sign_in_minutes", "typed_confirmation", "remind_seconds", "escalation",
)  # fmt: skip


class Condition(Data):
    """A simple test of one argument. `path` leads to it (`customer.address.country`, `items.0.price`)."""

    path: Path
    test: Test
    value: (
        Value
        | Annotated[tuple[Value, ...], Field(json_schema_extra={"minItems": 1, "maxItems": MOST_VALUES})]
        | None
    ) = None

    @model_validator(mode="after")
    def _a_value_of_the_right_type(self) -> Self:
        value, words = self.value, self.test.replace("_", " ")
        if self.test in PRESENCE_TESTS:
            if value is not None:
                raise fault("/value", f"“{words}” takes no value.")
        elif self.test in NUMBER_TESTS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise fault("/value", f"“{words}” needs a number, and not {_quoted(value)}.")
        elif self.test in TEXT_TESTS:
            if not isinstance(value, str) or not value:
                raise fault("/value", f"“{words}” needs a text, and not {_quoted(value)}.")
        elif self.test in LIST_TESTS:
            if not isinstance(value, tuple) or not 1 <= len(value) <= MOST_VALUES:
                raise fault("/value", f"“{words}” needs a list of 1 to {MOST_VALUES} values.")
        elif value is None or isinstance(value, tuple):
            raise fault("/value", f"“{words}” needs a text, a number, true or false.")
        return self

    def __str__(self) -> str:
        value = ", ".join(map(_said, self.value)) if isinstance(self.value, tuple) else _said(self.value)
        return f"{self.path} {self.test.replace('_', ' ')} {value}".rstrip()


class Rule(Data):
    """One line of a policy. `tool` is a glob (`*` any text, `?` one character); agent, its team and the environment
    None mean any. All of `when`, and the expression in CEL, have to hold.

    For `require`, `team` with `approvals` is one stage, `stages` are several; `team` None means the agent's own. For
    `observe`, `sample_percent` is how many in a hundred calls of low risk are drawn for a later look.
    """

    name: Name
    tool: Name
    agent: Name | None = None
    agent_team: Name | None = None
    environment: Name | None = None
    when: tuple[Condition, ...] = Field(default=(), max_length=20)
    expression: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EXPRESSION)] | None = None
    action: Action
    team: Name | None = None
    approvals: Approvals = 1
    stages: tuple[Stage, ...] = Field(default=(), max_length=MOST_STAGES)
    deny_threshold: int = Field(default=1, ge=1, le=20)
    deadline_seconds: Seconds | None = None
    on_timeout: OnTimeout = "deny"
    allowed_decisions: tuple[Verdict, ...] = Field(default=VERDICTS, min_length=1)
    four_eyes: bool = False
    locked_fields: tuple[Path, ...] = Field(default=(), max_length=50)
    sign_in_minutes: Minutes | None = None
    typed_confirmation: bool = False
    remind_seconds: Seconds | None = None
    escalation: tuple[Escalation, ...] = Field(default=(), max_length=MOST_STEPS)
    sample_percent: int = Field(default=100, ge=1, le=100)
    place: int | None = Field(default=None, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _only_what_the_action_uses(self) -> Self:
        given = [name for name in _ONLY_REQUIRE if name in self.model_fields_set]
        if self.action != "require" and given:
            raise fault(f"/{given[0]}", f"{given[0]} belongs to the action require, not to {self.action}")
        if self.action != "observe" and "sample_percent" in self.model_fields_set:
            raise fault(
                "/sample_percent", f"sample_percent belongs only to the action observe, not to {self.action}"
            )
        if self.on_timeout == "allow" and self.deadline_seconds is None:
            raise fault("/deadline_seconds", "on_timeout allow needs deadline_seconds")
        if len(set(self.allowed_decisions)) != len(self.allowed_decisions):
            raise fault("/allowed_decisions", "allowed_decisions names a decision twice")
        return self

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if self.stages and {"team", "approvals"} & self.model_fields_set:
            raise fault(
                "/stages", "stages say which teams approve; team and approvals are for one stage alone"
            )
        if self.stages and self.stages[0].together:
            raise fault("/stages/0/together", "the first stage has none before it to be asked together with")
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> Self:
        deadline, before = self.deadline_seconds, 0
        if deadline is not None and self.remind_seconds is not None and self.remind_seconds >= deadline:
            raise fault("/remind_seconds", "remind_seconds has to be less than deadline_seconds")
        for at, step in enumerate(self.escalation):
            if step.after_seconds <= before:
                raise fault(
                    f"/escalation/{at}/after_seconds",
                    f"step {at + 1} of escalation has to come after the one before it",
                )
            if deadline is not None and step.after_seconds >= deadline:
                raise fault(
                    f"/escalation/{at}/after_seconds",
                    f"step {at + 1} of escalation has to come before the deadline",
                )
            before = step.after_seconds
        return self

    @property
    def asks(self) -> tuple[Stage, ...]:
        """Its stages, also when it is written as one team."""
        return self.stages or (Stage(team=self.team, approvals=self.approvals),)

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names, whatever for; each has to exist before it is published."""
        named = {stage.team for stage in self.asks} | {step.team for step in self.escalation}
        return {name for name in named | {self.agent_team} if name is not None}

    @property
    def lets_run(self) -> bool:
        """Whether a call that this rule answers runs without anybody's yes."""
        return self.action in ("allow", "observe")

    @property
    def has_conditions(self) -> bool:
        """Whether it depends on the arguments of a call."""
        return bool(self.when) or self.expression is not None


class Policy(Data):
    """Two layers. `guardrails` deny or require only; all of them apply and the strictest wins. `rules` are ordered, the
    first that matches answers; what none matches needs an approval. Nothing in `rules` loosens a guardrail. `limits`
    hold back what would be too much within a time, in no order, and nothing loosens them either. `waiting` says how
    many requests of an agent may wait at one time.

    Rules that say their `place` may be written in any order; two at one place are refused.
    """

    guardrails: tuple[Rule, ...] = Field(default=(), max_length=100)
    rules: tuple[Rule, ...] = Field(default=(), max_length=500)
    limits: tuple[Limit, ...] = Field(default=(), max_length=50)
    waiting: tuple[WaitingLimit, ...] = Field(default=(), max_length=50)

    @model_validator(mode="after")
    def _guardrails_only_tighten(self) -> Self:
        for at, rule in enumerate(self.guardrails):
            if rule.lets_run:
                raise fault(
                    f"/guardrails/{at}/action",
                    f"guardrail {rule.name!r} cannot {rule.action}: a guardrail denies or requires",
                )
            if rule.on_timeout == "allow":
                raise fault(
                    f"/guardrails/{at}/on_timeout",
                    f"guardrail {rule.name!r} cannot let a call run because nobody answers",
                )
            if rule.place is not None:
                raise fault(
                    f"/guardrails/{at}/place",
                    f"guardrail {rule.name!r} has a place; all guardrails apply, in no order",
                )
        return self

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> Self:
        for layer, lines in self.lines:
            seen: dict[str, int] = {}
            for at, line in enumerate(lines):
                if line.name in seen:
                    what = "waiting limits" if layer == "waiting" else layer
                    numbers = f"{seen[line.name] + 1} and {at + 1}"
                    raise fault(
                        f"/{layer}/{at}/name", f"two {what} are called {line.name!r}: number {numbers}"
                    )
                seen[line.name] = at
        return self

    @model_validator(mode="after")
    def _each_at_its_own_place(self) -> Self:
        taken: dict[int, str] = {}
        for at, rule in enumerate(self.rules):
            if rule.place is None:
                continue
            if rule.place in taken:
                raise fault(
                    f"/rules/{at}/place",
                    f"rules {taken[rule.place]!r} and {rule.name!r} are both at place {rule.place}",
                )
            taken[rule.place] = rule.name
        if taken and len(taken) < len(self.rules):
            at, unplaced = next((at, rule.name) for at, rule in enumerate(self.rules) if rule.place is None)
            raise fault(f"/rules/{at}/place", f"rule {unplaced!r} has no place, and others have one")
        return self

    @property
    def caps(self) -> tuple[tuple[str, tuple[Line, ...]], ...]:
        """What holds back by number, with the names of the fields."""
        return ("limits", self.limits), ("waiting", self.waiting)

    @property
    def lines(self) -> tuple[tuple[str, tuple[Line, ...]], ...]:
        """Everything that has a name, with the names of the fields."""
        return (*self.layers, *self.caps)

    @property
    def layers(self) -> tuple[tuple[str, tuple[Rule, ...]], ...]:
        """Both layers with the names of their fields."""
        return ("guardrails", self.guardrails), ("rules", self.rules)

    def in_order(self) -> Policy:
        """The same policy with its rules in the order of their places, which then are where they stand."""
        if not any(rule.place for rule in self.rules):
            return self
        rules = sorted(self.rules, key=lambda rule: rule.place or 0)
        return self.model_copy(update={"rules": tuple(_without_place(rule) for rule in rules)})

    def teams(self) -> set[str]:
        """The teams that its rules name; each has to exist before it is published."""
        return {name for _, lines in self.lines for line in lines for name in line.named_teams}

    @property
    def asks_for_plan_step(self) -> bool:
        """Whether an expression looks at the step of a plan that a call is in."""
        return any(PLAN_STEP in (rule.expression or "") for _, rules in self.layers for rule in rules)

    @cached_property
    def index(self) -> Index[Rule]:
        """Its rules by the tools that they are about."""
        return Index(self.rules)

    @cached_property
    def guardrail_index(self) -> Index[Rule]:
        """Its guardrails by the tools that they are about."""
        return Index(self.guardrails)


Line = Rule | Limit | WaitingLimit


def _without_place(rule: Rule) -> Rule:
    copy = rule.model_copy(update={"place": None})
    copy.model_fields_set.discard("place")
    return copy


def _said(value: Value | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"“{value}”" if isinstance(value, str) else str(value)


def _quoted(value: Value | tuple[Value, ...] | None) -> str:
    """What was given in the place of a value, not longer than a line."""
    if isinstance(value, tuple):
        return "a list"
    said = _said(value)
    return "nothing" if said in ("", "“”") else said if len(said) <= 60 else f"{said[:59]}…”"
