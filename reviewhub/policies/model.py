"""A policy as data: requirements, conditions, rules, and the two layers that they stand in. Pure."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from reviewhub.policies.index import Index

Action = Literal["allow", "observe", "require", "deny"]
Verdict = Literal["approve", "edit", "reject", "respond"]
OnTimeout = Literal["deny", "allow"]
Test = Literal[
    "is", "is_not", "is_over", "is_at_least", "is_under", "is_at_most", "contains", "contains_not", "starts_with",
    "ends_with", "is_one_of", "is_none_of", "is_there", "is_missing",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = ("approve", "edit", "reject", "respond")
EFFECTS = ("read", "idempotent", "once")
NUMBER_TESTS = ("is_over", "is_at_least", "is_under", "is_at_most")
TEXT_TESTS = ("contains", "contains_not", "starts_with", "ends_with")
LIST_TESTS = ("is_one_of", "is_none_of")
PRESENCE_TESTS = ("is_there", "is_missing")
MAX_EXPRESSION = 1000

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Path = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f.]+(\.[^\x00-\x1f\x7f.]+)*$"),
]
Value = bool | int | float | str
_ONLY_REQUIRE = (
    "team", "approvals", "deny_threshold", "deadline_seconds", "on_timeout", "allowed_decisions", "four_eyes",
)  # fmt: skip


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Requirement(_Data):
    """Who has to sign off, and by when.

    `deadline_seconds` counts from the request; None never expires. With `four_eyes` nobody signs off what
    they started, own or wrote themselves (`reviews.rules.may_vote`).
    """

    team: Name
    approvals: int = Field(default=1, ge=1, le=20)
    deny_threshold: int = Field(default=1, ge=1, le=20)
    deadline_seconds: int | None = Field(default=None, ge=1, le=366 * 24 * 3600)
    on_timeout: OnTimeout = "deny"
    allowed_decisions: tuple[Verdict, ...] = VERDICTS
    four_eyes: bool = False

    def __str__(self) -> str:
        plural = "approval" if self.approvals == 1 else "approvals"
        return f"{self.approvals} {plural} from {self.team}"


class Condition(_Data):
    """A simple test of one argument. `path` leads to it (`customer.address.country`, `items.0.price`)."""

    path: Path
    test: Test
    value: Value | tuple[Value, ...] | None = None

    @model_validator(mode="after")
    def _a_value_of_the_right_type(self) -> Self:
        value, words = self.value, self.test.replace("_", " ")
        if self.test in PRESENCE_TESTS:
            if value is not None:
                raise ValueError(f"{words} takes no value")
        elif self.test in NUMBER_TESTS:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{words} needs a number as value")
        elif self.test in TEXT_TESTS:
            if not isinstance(value, str) or not value:
                raise ValueError(f"{words} needs a text as value")
        elif self.test in LIST_TESTS:
            if not isinstance(value, tuple) or not 1 <= len(value) <= 100:
                raise ValueError(f"{words} needs a list of 1 to 100 values")
        elif value is None or isinstance(value, tuple):
            raise ValueError(f"{words} needs a text, a number, true or false as value")
        return self

    def __str__(self) -> str:
        value = ", ".join(map(_said, self.value)) if isinstance(self.value, tuple) else _said(self.value)
        return f"{self.path} {self.test.replace('_', ' ')} {value}".rstrip()


class Rule(_Data):
    """One line of a policy. `tool` is a glob (`*` any text, `?` one character); agent, its team and the environment
    None mean any. All of `when`, and the expression in CEL, have to hold.

    For `require`, `team` None means the agent's own team.
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
    approvals: int = Field(default=1, ge=1, le=20)
    deny_threshold: int = Field(default=1, ge=1, le=20)
    deadline_seconds: int | None = Field(default=None, ge=1, le=366 * 24 * 3600)
    on_timeout: OnTimeout = "deny"
    allowed_decisions: tuple[Verdict, ...] = Field(default=VERDICTS, min_length=1)
    four_eyes: bool = False
    place: int | None = Field(default=None, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _only_what_the_action_uses(self) -> Self:
        given = [name for name in _ONLY_REQUIRE if name in self.model_fields_set]
        if self.action != "require" and given:
            raise ValueError(f"{given[0]} belongs to the action require, not to {self.action}")
        if self.on_timeout == "allow" and self.deadline_seconds is None:
            raise ValueError("on_timeout allow needs deadline_seconds")
        if len(set(self.allowed_decisions)) != len(self.allowed_decisions):
            raise ValueError("allowed_decisions names a decision twice")
        return self

    @property
    def lets_run(self) -> bool:
        """Whether a call that this rule answers runs without anybody's yes."""
        return self.action in ("allow", "observe")

    @property
    def has_conditions(self) -> bool:
        """Whether it depends on the arguments of a call."""
        return bool(self.when) or self.expression is not None


class Policy(_Data):
    """Two layers. `guardrails` deny or require only; all of them apply and the strictest wins. `rules` are ordered, the
    first that matches answers; what none matches needs an approval. Nothing in `rules` loosens a guardrail.

    Rules that say their `place` may be written in any order; two at one place are refused.
    """

    guardrails: tuple[Rule, ...] = Field(default=(), max_length=100)
    rules: tuple[Rule, ...] = Field(default=(), max_length=500)

    @model_validator(mode="after")
    def _guardrails_only_tighten(self) -> Self:
        for rule in self.guardrails:
            if rule.lets_run:
                raise ValueError(
                    f"guardrail {rule.name!r} cannot {rule.action}: a guardrail denies or requires"
                )
            if rule.on_timeout == "allow":
                raise ValueError(f"guardrail {rule.name!r} cannot let a call run because nobody answers")
            if rule.place is not None:
                raise ValueError(f"guardrail {rule.name!r} has a place; all guardrails apply, in no order")
        return self

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> Self:
        for what, layer in (("rules", self.rules), ("guardrails", self.guardrails)):
            seen: set[str] = set()
            for rule in layer:
                if rule.name in seen:
                    raise ValueError(f"two {what} are called {rule.name!r}")
                seen.add(rule.name)
        return self

    @model_validator(mode="after")
    def _each_at_its_own_place(self) -> Self:
        taken: dict[int, str] = {}
        for rule in self.rules:
            if rule.place is None:
                continue
            if rule.place in taken:
                raise ValueError(
                    f"rules {taken[rule.place]!r} and {rule.name!r} are both at place {rule.place}"
                )
            taken[rule.place] = rule.name
        if taken and len(taken) < len(self.rules):
            unplaced = next(rule.name for rule in self.rules if rule.place is None)
            raise ValueError(f"rule {unplaced!r} has no place, and others have one")
        return self

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
        every = (*self.guardrails, *self.rules)
        named = {rule.team for rule in every} | {rule.agent_team for rule in every}
        return {name for name in named if name is not None}

    @cached_property
    def index(self) -> Index[Rule]:
        """Its rules by the tools that they are about."""
        return Index(self.rules)

    @cached_property
    def guardrail_index(self) -> Index[Rule]:
        """Its guardrails by the tools that they are about."""
        return Index(self.guardrails)


def _without_place(rule: Rule) -> Rule:
    copy = rule.model_copy(update={"place": None})
    copy.model_fields_set.discard("place")
    return copy


def _said(value: Value | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"“{value}”" if isinstance(value, str) else str(value)
