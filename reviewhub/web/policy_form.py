"""The policy editor's form: ordered rules as fields, and what its buttons do to them. Works without script.

The draft lives in the form only: every button sends the whole of it, and only `publish` stores anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.policies.difference import Field
from reviewhub.policies.model import MAX_EXPRESSION
from reviewhub.policies.rules import Condition, Policy, Rule
from reviewhub.web import policy_conditions
from reviewhub.web.policy_conditions import MOST_CONDITIONS, ConditionForm

MOST_RULES = 200
VERDICTS = ("approve", "edit", "reject", "respond")
VERDICT_WORDS = (("approve", "Approve"), ("edit", "Edit"), ("reject", "Reject"), ("respond", "Answer"))
ACTIONS = (
    ("require", "Ask for approval"),
    ("allow", "Let it run"),
    ("observe", "Let it run, mark it for a later look"),
    ("deny", "Deny"),
)
LONGEST = 366 * 86_400
UNITS = {"m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"\s*(\d{1,6})\s*([smhd]?)\s*")
_BUTTON = re.compile(r"(up|down|remove)-(\d{1,3})")


@dataclass(frozen=True)
class RuleForm:
    """One rule as its fields."""

    name: str = ""
    tool: str = ""
    agent: str = ""
    environment: str = ""
    agent_team: str = ""
    when: tuple[ConditionForm, ...] = ()
    expression: str = ""
    action: str = "require"
    team: str = ""
    approvals: str = "1"
    deny_threshold: str = "1"
    deadline: str = ""
    on_timeout: str = "deny"
    allowed: tuple[str, ...] = VERDICTS
    four_eyes: bool = False
    is_new: bool = False
    """It was added just now; the page goes to it."""

    @property
    def catches_all(self) -> bool:
        """Whether no call gets past this rule."""
        return (
            self.tool.strip() == "*"
            and not (self.agent or self.agent_team or self.environment.strip())
            and not (self.when or self.expression.strip())
            and not self.lets_run
        )

    @property
    def lines(self) -> tuple[ConditionForm, ...]:
        """Its conditions, and an empty line for one more."""
        return (*self.when, ConditionForm()) if len(self.when) < MOST_CONDITIONS else self.when

    @property
    def lets_run(self) -> bool:
        """Whether it is for registered tools only."""
        return self.action in ("allow", "observe")

    @classmethod
    def of(cls, rule: Rule) -> RuleForm:
        """The fields of a published rule."""
        return cls(
            name=rule.name,
            tool=rule.tool,
            agent=rule.agent or "",
            environment=rule.environment or "",
            agent_team=rule.agent_team or "",
            when=tuple(map(ConditionForm.of, rule.when)),
            expression=rule.expression or "",
            action=rule.action,
            team=rule.team or "",
            approvals=str(rule.approvals),
            deny_threshold=str(rule.deny_threshold),
            deadline=duration_words(rule.deadline_seconds),
            on_timeout=rule.on_timeout,
            allowed=rule.allowed_decisions,
            four_eyes=rule.four_eyes,
        )

    def tree(self) -> dict[str, Any]:
        """The rule as the policy's text has it. Raises Invalid for what is no number and no duration."""
        found: dict[str, Any] = {"name": self.name.strip(), "tool": self.tool.strip(), "action": self.action}
        for name in ("agent", "agent_team", "environment", "expression"):
            if value := getattr(self, name).strip():
                found[name] = value
        if self.when:
            found["when"] = [condition.tree() for condition in self.when]
        if self.action != "require":
            return found
        if self.team:
            found["team"] = self.team
        found["approvals"] = _whole(self.approvals, "approvals")
        found["deny_threshold"] = _whole(self.deny_threshold, "deny_threshold")
        if self.deadline.strip():
            found["deadline_seconds"] = seconds_of(self.deadline)
            found["on_timeout"] = self.on_timeout
        if set(self.allowed) != set(VERDICTS):
            found["allowed_decisions"] = list(self.allowed)
        if self.four_eyes:
            found["four_eyes"] = True
        return found


@dataclass(frozen=True)
class Draft:
    """Both layers of a policy as fields."""

    guardrails: list[RuleForm]
    rules: list[RuleForm]

    @classmethod
    def of(cls, policy: Policy) -> Draft:
        """A published policy as fields."""
        return cls(list(map(RuleForm.of, policy.guardrails)), list(map(RuleForm.of, policy.rules)))

    def name_of(self, layer: str, at: int) -> str:
        """The name of a rule, for a message about it; empty where there is none."""
        rules = self.rules if layer == "rules" else self.guardrails
        return rules[at].name if at < len(rules) else ""

    def text(self) -> str:
        """The policy's text, to be read by `parse_policy`. Raises Invalid naming the layer, the rule and the field."""
        layers = {"guardrails": _trees("guardrails", self.guardrails), "rules": _trees("rules", self.rules)}
        return canonical.dumps({layer: rules for layer, rules in layers.items() if rules or layer == "rules"})


def read(given: Mapping[str, Any], lists: Any) -> Draft:
    """The draft as it was filled in. `lists(name)` gives the ticked boxes of one name."""
    return Draft(_layer(given, lists, "gcount", "g"), _layer(given, lists, "count", "r"))


def _layer(given: Mapping[str, Any], lists: Any, counted: str, letter: str) -> list[RuleForm]:
    count = str(given.get(counted, "0"))
    many = min(int(count), MOST_RULES) if count.isascii() and count.isdecimal() and len(count) < 5 else 0
    return [_rule(given, lists, f"{letter}{at}-") for at in range(many)]


def _rule(given: Mapping[str, Any], lists: Any, prefix: str) -> RuleForm:
    def text(name: str) -> str:
        return str(given.get(prefix + name, ""))[:400]

    return RuleForm(
        name=text("name"),
        tool=text("tool"),
        agent=text("agent"),
        environment=text("environment"),
        agent_team=text("agent_team"),
        when=policy_conditions.read(given, prefix),
        expression=str(given.get(prefix + "expression", ""))[: MAX_EXPRESSION + 100],
        action=text("action"),
        team=text("team"),
        approvals=text("approvals"),
        deny_threshold=text("deny_threshold"),
        deadline=text("deadline"),
        on_timeout=text("on_timeout"),
        allowed=tuple(one for one in VERDICTS if one in lists(f"{prefix}allowed")),
        four_eyes=bool(given.get(f"{prefix}four_eyes")),
    )


def press(draft: Draft, button: str) -> Draft:
    """The draft after a button: `add`, `up-3`, `down-3`, `remove-3`; for guardrails `gadd` and `gremove-3`, since they
    have no order. Any other leaves it."""
    if button.startswith("g"):
        return replace(draft, guardrails=_pressed(draft.guardrails, button[1:]))
    return replace(draft, rules=_pressed(draft.rules, button))


def _pressed(given: list[RuleForm], button: str) -> list[RuleForm]:
    rules = list(given)
    if button == "add" and len(rules) < MOST_RULES:
        return _with_new(rules)
    match = _BUTTON.fullmatch(button)
    if match is None:
        return rules
    what, at = match.group(1), int(match.group(2))
    if at >= len(rules):
        return rules
    if what == "remove":
        del rules[at]
    other = at - 1 if what == "up" else at + 1
    if what != "remove" and 0 <= other < len(rules):
        rules[at], rules[other] = rules[other], rules[at]
    return rules


def _with_new(rules: list[RuleForm]) -> list[RuleForm]:
    """The rules with an empty one where it can match: before the first that answers every call."""
    at = next((at for at, rule in enumerate(rules) if rule.catches_all), len(rules))
    return [*rules[:at], RuleForm(deadline="1 d", is_new=True), *rules[at:]]


def _trees(layer: str, rules: list[RuleForm]) -> list[dict[str, Any]]:
    trees = []
    for at, rule in enumerate(rules):
        try:
            trees.append(rule.tree())
        except Invalid as error:
            path = error.errors[0]["path"] if error.errors else ""
            raise Invalid.at(f"/{layer}/{at}{path}", error.errors[0]["message"]) from error
    return trees


def seconds_of(text: str) -> int:
    """`15 m`, `2 h`, `1 d`, `90 s` or plain minutes as seconds. Raises Invalid."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Invalid.at("/deadline_seconds", "Write a time such as 15 m, 2 h or 1 d.")
    seconds = int(match.group(1)) * {"s": 1, "": 60, **UNITS}[match.group(2)]
    if not 1 <= seconds <= LONGEST:
        raise Invalid.at(
            "/deadline_seconds", f"Write a time of at least 1 s and at most {LONGEST // 86_400} d."
        )
    return seconds


def duration_words(seconds: int | None) -> str:
    """Seconds as the form takes them."""
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def field_words(field: Field) -> str:
    """One difference, such as `approvals: 1 → 2`."""
    name = field.name.replace("_seconds", "").replace("_", " ")
    return f"{name}: {_said(field.name, field.before)} → {_said(field.name, field.after)}"


def _said(name: str, value: Any) -> str:
    if value is None:
        return "none" if name == "deadline_seconds" else "the agent's" if name == "team" else "any"
    if name == "deadline_seconds":
        return duration_words(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "when":
        return "; ".join(str(Condition.model_validate_json(canonical.dumps(one))) for one in value) or "any"
    if isinstance(value, list):
        return ", ".join(dict(VERDICT_WORDS).get(one, str(one)) for one in value)
    return dict(ACTIONS).get(value, str(value)) if name == "action" else str(value)


def _whole(text: str, name: str) -> int:
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) < 6):
        raise Invalid.at(f"/{name}", "Write a whole number.")
    return int(text)
