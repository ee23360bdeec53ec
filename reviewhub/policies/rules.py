"""What sign-off a tool call needs: the pure part of policy.

A policy is an ordered list of rules; the first one that matches answers. What no rule matches needs one
approval of the agent's team. It fails closed in these ways:

* a rule that lets a call run (`allow`, `observe`) matches exact names of registered tools only, a rule that
  holds or denies (`require`, `deny`) also names that read like the one it says (`policies.names`);
* what a rule lets run is a tool as it was registered when the policy was published;
* an unknown tool, a name that deceives, an unusable schema or a failed check hold what a rule would let run;
* a call that is held for such a reason is never let through by a time-out;
* what an agent wishes (deadline, decisions) narrows and shortens only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from reviewhub.policies.names import matches_exactly, matches_folded, oddities, reads_like

Action = Literal["allow", "observe", "require", "deny"]
Verdict = Literal["approve", "edit", "reject", "respond"]
OnTimeout = Literal["deny", "allow"]
VERDICTS: tuple[Verdict, ...] = ("approve", "edit", "reject", "respond")
EFFECTS = ("read", "idempotent", "once")
CHANGED_SINCE = "the tool was registered, or its schema or effect changed, after this policy was published"
NOT_REGISTERED = "the tool is not registered (its agent has to register it with PUT /tools/…)"

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
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


class Rule(_Data):
    """One line of a policy. `tool` is a glob (`*` any text, `?` one character); agent and environment None
    mean any.

    For `require`, `team` None means the agent's own team.
    """

    name: Name
    tool: Name
    agent: Name | None = None
    environment: Name | None = None
    action: Action
    team: Name | None = None
    approvals: int = Field(default=1, ge=1, le=20)
    deny_threshold: int = Field(default=1, ge=1, le=20)
    deadline_seconds: int | None = Field(default=None, ge=1, le=366 * 24 * 3600)
    on_timeout: OnTimeout = "deny"
    allowed_decisions: tuple[Verdict, ...] = Field(default=VERDICTS, min_length=1)
    four_eyes: bool = False

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


class Policy(_Data):
    """An ordered list of rules, first match first. No rules means that every call needs an approval."""

    rules: tuple[Rule, ...] = Field(default=(), max_length=500)

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> Self:
        seen: set[str] = set()
        for rule in self.rules:
            if rule.name in seen:
                raise ValueError(f"two rules are called {rule.name!r}")
            seen.add(rule.name)
        return self

    def teams(self) -> set[str]:
        """The teams that its rules name; each has to exist before it is published."""
        return {rule.team for rule in self.rules if rule.team is not None}


@dataclass(frozen=True, kw_only=True)
class Call:
    """What policy may know of a tool call. The second half is the agent's word and tightens only.

    `known` says that the tool is registered just as it was when the policy was published: nobody looked at any other.
    """

    tool: str
    registered: bool
    known: bool
    effect: str | None
    agent: str
    agent_team: str
    environment: str
    schema_problem: str = ""
    failed_checks: tuple[str, ...] = ()
    wished_decisions: tuple[str, ...] | None = None
    wished_deadline_seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What policy says to one call. `requirement` is set exactly when action is require.

    `position` counts rules from 1; it and `rule` are None when no rule answered. `text` is for people.
    """

    action: Action
    text: str
    rule: str | None = None
    position: int | None = None
    requirement: Requirement | None = None
    held_because: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one rule said to a call."""

    position: int
    rule: str
    action: Action
    matched: bool
    why: str


@dataclass(frozen=True)
class Explanation:
    """The answer and how it came about, one step for each rule up to the one that answered."""

    answer: Answer
    steps: tuple[Step, ...] = field(default=())


def evaluate(policy: Policy, call: Call) -> Answer:
    """The answer of `policy` to `call`. Never raises and never lets an unknown tool run."""
    return explain(policy, call).answer


def explain(policy: Policy, call: Call) -> Explanation:
    """As `evaluate`, with what each rule said."""
    steps: list[Step] = []
    for position, rule in enumerate(policy.rules, start=1):
        why_not = _mismatch(rule, call)
        steps.append(
            Step(
                position=position,
                rule=rule.name,
                action=rule.action,
                matched=why_not is None,
                why=why_not or "matches",
            )
        )
        if why_not is None:
            return Explanation(_answer(rule, position, call), tuple(steps))
    return Explanation(everything_else(call), tuple(steps))


def possible(policy: Policy, call: Call) -> list[Answer]:
    """The answers that calls such as this one may get, in any environment: down to the first that all others get."""
    found: list[Answer] = []
    for position, rule in enumerate(policy.rules, start=1):
        if _mismatch(rule.model_copy(update={"environment": None}), call) is None:
            found.append(_answer(rule, position, call))
            if rule.environment is None:
                return found
    return [*found, everything_else(call)]


def everything_else(call: Call, *, because: str = "no rule matches") -> Answer:
    """One approval of the agent's team: the answer if no rule matches, or if policy cannot be read."""
    held = _holds(call)
    requirement = _narrowed(Requirement(team=call.agent_team), call, held)
    return Answer(
        action="require",
        text=_sentence(str(requirement), (because, *held)),
        requirement=requirement,
        held_because=held,
    )


def effective_effect(registered: str | None, claimed: str | None) -> str:
    """The stronger of the two effects; what is missing or no effect counts as `once`."""
    rank = {effect: position for position, effect in enumerate(EFFECTS)}
    strongest = len(EFFECTS) - 1
    known = rank.get(registered or "", strongest)
    return EFFECTS[known if claimed is None else max(known, rank.get(claimed, strongest))]


def _mismatch(rule: Rule, call: Call) -> str | None:
    """Why `rule` does not match, or None if it does."""
    if rule.lets_run:
        if not matches_exactly(rule.tool, call.tool):
            return f"the tool is not exactly {rule.tool}"
        if not call.registered or call.effect not in EFFECTS:
            return "would match, but the tool is not registered, so nothing lets it run"
        others = _exact_mismatch(rule.agent, call.agent), _exact_mismatch(rule.environment, call.environment)
    else:
        if not matches_folded(rule.tool, call.tool):
            return f"the tool does not read like {rule.tool}"
        others = (
            _folded_mismatch(rule.agent, call.agent),
            _folded_mismatch(rule.environment, call.environment),
        )
    for what, wanted in zip(("agent", "environment"), others, strict=True):
        if wanted is not None:
            return f"for {what} {wanted} only"
    return None


def _exact_mismatch(wanted: str | None, given: str) -> str | None:
    return None if wanted is None or wanted == given else wanted


def _folded_mismatch(wanted: str | None, given: str) -> str | None:
    return None if wanted is None or reads_like(wanted, given) else wanted


def _answer(rule: Rule, position: int, call: Call) -> Answer:
    if rule.action == "deny":
        return Answer(action="deny", text=f"Rule {rule.name} denies it.", rule=rule.name, position=position)
    held = _holds(call)
    if call.registered and not call.known and (rule.lets_run or rule.on_timeout == "allow"):
        held = (*held, CHANGED_SINCE)
    if rule.lets_run and not held:
        text = f"Rule {rule.name} lets it run" + (
            ", to be looked at later." if rule.action == "observe" else "."
        )
        return Answer(action=rule.action, text=text, rule=rule.name, position=position)
    requirement = _narrowed(_requirement(rule, call), call, held)
    because = (f"rule {rule.name} would let it run, but it is held", *held) if rule.lets_run else held
    return Answer(
        action="require",
        text=_sentence(str(requirement), because),
        rule=rule.name,
        position=position,
        requirement=requirement,
        held_because=held,
    )


def _requirement(rule: Rule, call: Call) -> Requirement:
    if rule.lets_run:
        return Requirement(team=call.agent_team)
    return Requirement(
        team=rule.team or call.agent_team,
        approvals=rule.approvals,
        deny_threshold=rule.deny_threshold,
        deadline_seconds=rule.deadline_seconds,
        on_timeout=rule.on_timeout,
        allowed_decisions=rule.allowed_decisions,
        four_eyes=rule.four_eyes,
    )


def _holds(call: Call) -> tuple[str, ...]:
    """The reasons why this call must not run without a person, whatever a rule says."""
    reasons: list[str] = []
    if not call.registered or call.effect not in EFFECTS:
        reasons.append(NOT_REGISTERED)
    reasons += [f"its name holds the {oddity}" for oddity in oddities(call.tool)[:3]]
    if call.schema_problem:
        reasons.append(f"its arguments could not be checked ({call.schema_problem})")
    if call.failed_checks:
        reasons.append(f"the agent reports a failed check ({call.failed_checks[0]})")
    return tuple(reasons)


def _narrowed(requirement: Requirement, call: Call, held: tuple[str, ...]) -> Requirement:
    """`requirement` with the agent's wishes as far as they narrow it; no held call passes by time-out."""
    changes: dict[str, object] = {}
    if held:
        changes["on_timeout"] = "deny"
    if call.wished_decisions is not None:
        allowed = tuple(kind for kind in requirement.allowed_decisions if kind in call.wished_decisions)
        changes["allowed_decisions"] = allowed or ("reject",)
    wish = call.wished_deadline_seconds
    # Where silence means yes, an agent that may shorten the time could outrun its reviewers.
    if wish is not None and (held or requirement.on_timeout == "deny"):
        changes["deadline_seconds"] = max(1, min(wish, requirement.deadline_seconds or wish))
    return requirement.model_copy(update=changes)


def _sentence(requirement: str, because: tuple[str, ...]) -> str:
    return f"{requirement}: {'; '.join(because)}." if because else f"{requirement}."
