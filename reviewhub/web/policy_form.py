"""The policy editor's form: ordered rules as fields, and what its buttons do to them. Works without script.

The draft lives in the form only: every button sends the whole of it, and only `publish` stores anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.policies.difference import Field
from reviewhub.policies.model import MAX_EXPRESSION
from reviewhub.policies.requirement import MOST_STAGES, MOST_STEPS, Escalation, Stage
from reviewhub.policies.rules import Condition, Policy, Rule
from reviewhub.web import policy_conditions, policy_limits, policy_stages
from reviewhub.web.policy_conditions import MOST_CONDITIONS, ConditionForm
from reviewhub.web.policy_limits import MOST_LIMITS, LimitForm, WaitingForm
from reviewhub.web.policy_stages import StageForm, StepForm
from reviewhub.web.policy_times import duration_words, seconds_of, unread, whole, written

MOST_RULES = 200
USUAL_DEADLINE = "1 d"
"""What a new rule or limit begins with; whoever wants none empties the field."""
VERDICTS = ("approve", "edit", "reject", "respond")
VERDICT_WORDS = (("approve", "Approve"), ("edit", "Edit"), ("reject", "Reject"), ("respond", "Answer"))
ACTIONS = (
    ("require", "Ask for approval"),
    ("allow", "Let it run"),
    ("observe", "Let it run, look at a sample later"),
    ("deny", "Deny"),
)
_Form = TypeVar("_Form", LimitForm, WaitingForm)
_SCOPE = ("agent", "agent_team", "environment", "expression", "place")
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
    sample: str = "100"
    team: str = ""
    approvals: str = "1"
    more: tuple[StageForm, ...] = ()
    """The stages after the first, which `team` and `approvals` are."""
    deny_threshold: str = "1"
    deadline: str = ""
    remind: str = ""
    on_timeout: str = "deny"
    escalation: tuple[StepForm, ...] = ()
    allowed: tuple[str, ...] = VERDICTS
    four_eyes: bool = False
    locked: str = ""
    sign_in: str = ""
    typed: bool = False
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
    def stage_lines(self) -> tuple[StageForm, ...]:
        """The stages after the first, and an empty line for one more."""
        return (*self.more, StageForm()) if len(self.more) < MOST_STAGES - 1 else self.more

    @property
    def step_lines(self) -> tuple[StepForm, ...]:
        """The steps of the escalation, and an empty line for one more."""
        return (*self.escalation, StepForm()) if len(self.escalation) < MOST_STEPS else self.escalation

    @property
    def in_short(self) -> str:
        """What it says, in a line."""
        scope = [self.tool.strip() or "no tool yet"]
        scope += [
            f"by {one}"
            for one in (self.agent, f"agents of {self.agent_team}" if self.agent_team else "")
            if one
        ]
        scope += [f"in {self.environment.strip()}"] if self.environment.strip() else []
        tests = [one.in_short for one in self.when] + (
            [self.expression.strip()] if self.expression.strip() else []
        )
        scope += [f"when {' and '.join(tests)}"] if tests else []
        return f"{' '.join(scope)}: {self._does}"

    @property
    def _does(self) -> str:
        if self.action != "require":
            return dict(ACTIONS).get(self.action, self.action).lower()
        asked = [
            (self.approvals, self.team),
            *((one.approvals, policy_stages.team_of(one)) for one in self.more),
        ]
        said = ", then ".join(f"{many.strip()} from {team or 'the agent’s team'}" for many, team in asked)
        until = f"deadline {self.deadline.strip()}" if self.deadline.strip() else "no deadline"
        if self.deadline.strip() and self.on_timeout == "allow":
            until += " and runs then"
        more = ["four eyes"] * self.four_eyes + [until] + self._asked_beside
        return f"{said}, {', '.join(more)}"

    @property
    def _asked_beside(self) -> list[str]:
        """What else it asks for, in words."""
        found = [f"{self.deny_threshold.strip()} rejections end it"] * (
            self.deny_threshold.strip() not in ("", "1")
        )
        if self.remind.strip():
            found.append(f"reminder after {self.remind.strip()}")
        steps = [f"{one.to.removeprefix(policy_stages.TEAM)} after {one.after}" for one in self.escalation]
        if steps:
            found.append(f"escalation to {', then '.join(steps)}")
        if set(self.allowed) != set(VERDICTS):
            words = dict(VERDICT_WORDS)
            found.append(f"allowed: {', '.join(words[one] for one in self.allowed) or 'nothing'}")
        if self.locked.strip():
            found.append(f"locked: {self.locked.strip()}")
        if self.sign_in.strip():
            found.append(f"password of the last {self.sign_in.strip()} min")
        return found + ["typed confirmation"] * self.typed

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names, as they are written."""
        to = {
            one.to.removeprefix(policy_stages.TEAM)
            for one in self.escalation
            if one.to != policy_stages.MANAGERS
        }
        return {self.team, self.agent_team, *map(policy_stages.team_of, self.more), *to} - {""}

    @property
    def asks_more(self) -> bool:
        """Whether it says more than who approves until when."""
        return bool(self.more or self.escalation or self.locked or self.sign_in or self.remind or self.typed)

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
            sample=str(rule.sample_percent),
            team=rule.asks[0].team or "",
            approvals=str(rule.asks[0].approvals),
            more=policy_stages.stage_forms(rule.asks[1:]),
            deny_threshold=str(rule.deny_threshold),
            deadline=duration_words(rule.deadline_seconds),
            remind=duration_words(rule.remind_seconds),
            on_timeout=rule.on_timeout,
            escalation=policy_stages.step_forms(rule.escalation),
            allowed=rule.allowed_decisions,
            four_eyes=rule.four_eyes,
            locked=", ".join(rule.locked_fields),
            sign_in=str(rule.sign_in_minutes or ""),
            typed=rule.typed_confirmation,
        )

    def tree(self) -> dict[str, Any]:
        """The rule as the policy's text has it."""
        found: dict[str, Any] = {"name": self.name.strip(), "tool": self.tool.strip(), "action": self.action}
        for name in ("agent", "agent_team", "environment", "expression"):
            if value := getattr(self, name).strip():
                found[name] = value
        if self.when:
            found["when"] = [condition.tree() for condition in self.when]
        if self.action == "observe" and self.sample.strip() not in ("", "100"):
            found["sample_percent"] = whole(self.sample)
        if self.action != "require":
            return found
        return found | self._required()

    def _required(self) -> dict[str, Any]:
        """What the action require takes beside."""
        found = policy_stages.stages_tree(self.team, self.approvals, self.more)
        found["deny_threshold"] = whole(self.deny_threshold)
        if self.deadline.strip():
            found["deadline_seconds"] = seconds_of(self.deadline)
            found["on_timeout"] = self.on_timeout
        if self.remind.strip():
            found["remind_seconds"] = seconds_of(self.remind)
        if self.escalation:
            found["escalation"] = policy_stages.steps_tree(self.escalation)
        if set(self.allowed) != set(VERDICTS):
            found["allowed_decisions"] = list(self.allowed)
        if locked := [path.strip() for path in self.locked.split(",") if path.strip()]:
            found["locked_fields"] = locked
        if self.sign_in.strip():
            found["sign_in_minutes"] = whole(self.sign_in)
        for name, said in (("four_eyes", self.four_eyes), ("typed_confirmation", self.typed)):
            if said:
                found[name] = True
        return found


@dataclass(frozen=True)
class Draft:
    """Both layers of a policy, and its limits, as fields."""

    guardrails: list[RuleForm]
    rules: list[RuleForm]
    limits: list[LimitForm] = field(default_factory=list)
    waiting: list[WaitingForm] = field(default_factory=list)

    @classmethod
    def of(cls, policy: Policy) -> Draft:
        """A published policy as fields."""
        return cls(
            list(map(RuleForm.of, policy.guardrails)),
            list(map(RuleForm.of, policy.rules)),
            list(map(LimitForm.of, policy.limits)),
            list(map(WaitingForm.of, policy.waiting)),
        )

    def name_of(self, layer: str, at: int) -> str:
        """The name of a rule or a limit, for a message about it; empty where there is none."""
        names = [line.name for line in getattr(self, layer)]
        return names[at] if at < len(names) else ""

    @property
    def lines(self) -> tuple[tuple[str, str, Sequence[RuleForm | LimitForm | WaitingForm]], ...]:
        """Everything that has a name: the layer, the word for one of it, and what is in it."""
        return (
            ("guardrails", "guardrail", self.guardrails),
            ("rules", "rule", self.rules),
            ("limits", "limit", self.limits),
            ("waiting", "waiting", self.waiting),
        )

    @property
    def layers(self) -> list[tuple[str, Sequence[RuleForm | LimitForm | WaitingForm]]]:
        """The layers by their names in the policy's text."""
        return [(layer, forms) for layer, _, forms in self.lines]

    @property
    def agents(self) -> set[str]:
        """The agents that it names, as they are written."""
        return {form.agent for _, _, forms in self.lines for form in forms} - {""}

    @property
    def teams(self) -> set[str]:
        """The teams that it names, as they are written."""
        return {team for _, _, forms in self.lines for form in forms for team in form.named_teams}

    def differing(self, other: Draft) -> set[str]:
        """Which of its rules and limits the other draft has not just so: the ids of their cards."""
        return {
            f"{word}-{at}"
            for (_, word, mine), (_, _, others) in zip(self.lines, other.lines, strict=True)
            for at, one in enumerate(mine)
            if one not in others
        }

    def text(self) -> str:
        """The policy's text, to be read by `parse_policy`, which refuses what could not be read here."""
        layers = written(self._trees())
        return canonical.dumps({layer: rules for layer, rules in layers.items() if rules or layer == "rules"})

    def told(self, error: Invalid) -> Invalid:
        """What its reader said of the text, in the words of the form where the form could not read a field."""
        instead = unread(self._trees())
        found: dict[tuple[str, str], dict[str, str]] = {}
        for one in error.errors:
            # Of a value that may be of two types its reader says what is wrong with either.
            at = next((path for path in instead if f"{one['path']}/".startswith(f"{path}/")), one["path"])
            told = {**one, "path": at, "message": instead.get(at, one["message"])}
            found.setdefault((at, told["message"]), told)
        return Invalid(error.message, errors=list(found.values()))

    def _trees(self) -> dict[str, list[dict[str, Any]]]:
        return {layer: [form.tree() for form in forms] for layer, _, forms in self.lines}


def read(given: Mapping[str, Any], lists: Any) -> Draft:
    """The draft as it was filled in. `lists(name)` gives the ticked boxes of one name."""
    return Draft(
        _layer(given, lists, "gcount", "g"),
        _layer(given, lists, "count", "r"),
        policy_limits.read_limits(given),
        policy_limits.read_waiting(given),
    )


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
        sample=text("sample"),
        team=text("team"),
        approvals=text("approvals"),
        more=policy_stages.read_stages(given, prefix),
        deny_threshold=text("deny_threshold"),
        deadline=text("deadline"),
        remind=text("remind"),
        on_timeout=text("on_timeout"),
        escalation=policy_stages.read_steps(given, prefix),
        allowed=tuple(one for one in VERDICTS if one in lists(f"{prefix}allowed")),
        four_eyes=bool(given.get(f"{prefix}four_eyes")),
        locked=str(given.get(f"{prefix}locked", ""))[:4000],
        sign_in=text("sign_in"),
        typed=bool(given.get(f"{prefix}typed")),
    )


def press(draft: Draft, button: str) -> Draft:
    """The draft after a button: `add`, `up-3`, `down-3`, `remove-3`; for guardrails `gadd` and `gremove-3`, since they
    have no order, and likewise `ladd`, `lremove-3` for limits and `wadd`, `wremove-3` for what may wait. Any other
    leaves it."""
    if button.startswith("l"):
        return replace(
            draft, limits=_added_or_removed(draft.limits, button[1:], LimitForm(deadline=USUAL_DEADLINE))
        )
    if button.startswith("w"):
        return replace(draft, waiting=_added_or_removed(draft.waiting, button[1:], WaitingForm()))
    if button.startswith("g"):
        return replace(draft, guardrails=_pressed(draft.guardrails, button[1:]))
    return replace(draft, rules=_pressed(draft.rules, button))


def _added_or_removed(given: list[_Form], button: str, new: _Form) -> list[_Form]:
    lines = list(given)
    if button == "add" and len(lines) < MOST_LIMITS:
        lines.append(new)
    match = _BUTTON.fullmatch(button)
    if match is not None and match.group(1) == "remove" and int(match.group(2)) < len(lines):
        del lines[int(match.group(2))]
    return lines


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


def focus_after(draft: Draft, button: str) -> str:
    """The id of what has the focus when the page is back, so that nobody begins at its top again: what moved, what
    took the place of what was removed, what is new, what was found out. Empty for what has it by itself."""
    if button in ("check", "try", "look"):
        return {"check": "checked", "look": "checked", "try": "trial"}[button]
    for (_, word, lines), letter in zip(draft.lines, ("g", "", "l", "w"), strict=True):
        pressed = button.removeprefix(letter)
        if pressed == button and letter:
            continue
        if pressed == "add" and letter in ("l", "w"):
            return f"{letter}{len(lines) - 1}-name"
        match = _BUTTON.fullmatch(pressed)
        if match is None:
            continue
        what, at, last = match[1], int(match[2]), len(lines) - 1
        if what == "remove":
            return f"{word}-{min(at, last)}-fold" if lines else f"add-{word}"
        now = min(max(at - 1 if what == "up" else at + 1, 0), last)
        turned = "down" if now == 0 else "up" if now == last else what
        return f"{word}-{now}-{turned}"
    return ""


def _with_new(rules: list[RuleForm]) -> list[RuleForm]:
    """The rules with an empty one where it can match: before the first that answers every call."""
    at = next((at for at, rule in enumerate(rules) if rule.catches_all), len(rules))
    return [*rules[:at], RuleForm(deadline=USUAL_DEADLINE, is_new=True), *rules[at:]]


_FIELD_WORDS = {
    "when": "conditions", "deny_threshold": "rejections that end it", "deadline_seconds": "deadline",
    "on_timeout": "if nobody answers", "remind_seconds": "reminder after", "allowed_decisions": "allowed answers",
    "sign_in_minutes": "password of the last", "sample_percent": "looked at later", "window_seconds": "within",
    "sum_of": "adds up", "per": "counted for", "then": "what would pass it",
}  # fmt: skip
_VALUE_WORDS = {
    ("on_timeout", "deny"): "it is denied", ("on_timeout", "allow"): "it runs", ("sum_of", None): "nothing",
    ("per", "agent"): "each agent", ("per", "all"): "all agents together", ("then", "require"): "asks for approval",
    ("then", "deny"): "is denied",
}  # fmt: skip


def field_words(field: Field) -> str:
    """One difference, such as `approvals: 1 → 2`."""
    name = _FIELD_WORDS.get(field.name, field.name.replace("_", " "))
    return f"{name}: {_said(field.name, field.before)} → {_said(field.name, field.after)}"


def _said(name: str, value: Any) -> str:
    if isinstance(value, str | None) and (name, value) in _VALUE_WORDS:
        return _VALUE_WORDS[name, value]
    if value is None or value == []:
        return "the agent’s" if name == "team" else "any" if name in _SCOPE else "none"
    if name.endswith("_seconds"):
        return duration_words(value)
    if name in ("sign_in_minutes", "sample_percent"):
        return f"{value} {'min' if name == 'sign_in_minutes' else '%'}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "when":
        return " and ".join(str(Condition.model_validate_json(canonical.dumps(one))) for one in value)
    if name == "stages":
        return ", then ".join(str(Stage(**one)) for one in value).replace(", then with ", " with ")
    if name == "escalation":
        return ", then ".join(f"{Escalation(**one)}" for one in value)
    if isinstance(value, list):
        return ", ".join(dict(VERDICT_WORDS).get(one, str(one)) for one in value)
    return dict(ACTIONS).get(value, str(value)) if name == "action" else str(value)
