"""What sign-off a tool call needs: the pure part of policy.

A policy has two layers. All **guardrails** apply and the strictest wins; **rules** are ordered and the first one that
matches answers. What no rule matches needs one approval of the agent's team. The answer is the stricter one of both
layers, so nothing in the rules loosens a guardrail, and no guardrail frees anything. It fails closed in these ways:

* a rule that lets a call run (`allow`, `observe`) matches exact names of registered tools only, a rule that
  holds or denies (`require`, `deny`) also names that read like the one it says (`policies.names`);
* what a rule lets run is a tool as it was registered when the policy was published;
* a condition that cannot be decided (an argument is missing, null, of another type, or a number that 64 bits do not
  hold exactly; the expression fails or costs too much) holds the call;
* an unknown tool, a name that deceives, an unusable schema or a failed check hold what a rule would let run;
* a call that is held for such a reason is never let through by a time-out;
* what an agent wishes (deadline, decisions) narrows and shortens only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from reviewhub.policies.call import Call
from reviewhub.policies.joining import joined
from reviewhub.policies.matching import Part, matched, parts
from reviewhub.policies.model import EFFECTS, Action, Condition, Policy, Rule
from reviewhub.policies.names import oddities
from reviewhub.policies.requirement import VERDICTS, AskedStage, Requirement, Verdict
from reviewhub.policies.requirement import Step as Rung
from reviewhub.tools.acts import ASK, needs_nobody

__all__ = [
    "EFFECTS", "VERDICTS", "Action", "Answer", "Call", "Condition", "Explanation", "Part", "Policy", "Requirement",
    "Rule", "Step", "Verdict", "breaks_at", "effective_effect", "evaluate", "everything_else", "explain", "possible",
    "tighten", "unconditional", "unmatched",
]  # fmt: skip

Layer = Literal["guardrail", "limit", "rejection", "standing", "rule"]
"""What answered. The layers between are not the policy's own text: `gates` asks them, in this order."""
CHANGED_SINCE = "the tool was registered, or its schema or effect changed, after this policy was published"
NO_RULE = "no rule matches"
NOT_REGISTERED = "the tool is not registered (its agent has to register it with PUT /tools/…)"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What policy says to one call. `requirement` is set exactly when action is require.

    `position` counts the rules of a layer from 1; it and `rule` are None when nothing but the last line answered.
    `text` is for people. `undecided` says which parts of policy could not be evaluated on this call. `sample_percent`
    is that of a rule that observes.
    """

    action: Action
    text: str
    layer: Layer = "rule"
    rule: str | None = None
    position: int | None = None
    requirement: Requirement | None = None
    held_because: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    is_least: bool = False
    """No rule said whom to ask: the requirement is one approval of the agent's own team, and says nothing more."""
    sample_percent: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one rule said to a call. `matched` None: it could not be decided. `answers`: it made the answer."""

    layer: Layer
    position: int
    rule: str
    action: Action
    matched: bool | None
    why: str
    parts: tuple[Part, ...] = ()
    answers: bool = False


@dataclass(frozen=True)
class Explanation:
    """The answer and how it came about: a step for each guardrail and each rule, also those behind the answer."""

    answer: Answer
    steps: tuple[Step, ...] = field(default=())


def evaluate(policy: Policy, call: Call) -> Answer:
    """The answer of `policy` to `call`. Never lets an unknown tool run."""
    return _strictest(policy, call, _by_rules(policy, call))


def explain(policy: Policy, call: Call) -> Explanation:
    """As `evaluate`, with what each rule said."""
    answer = evaluate(policy, call)
    layers: tuple[tuple[Layer, tuple[Rule, ...]], ...] = (
        ("guardrail", policy.guardrails),
        ("rule", policy.rules),
    )
    steps = [
        _step(layer, position, rule, call, answer)
        for layer, rules in layers
        for position, rule in enumerate(rules, start=1)
    ]
    return Explanation(answer, tuple(steps))


def breaks_at(policy: Policy, call: Call) -> str:
    """The first rule that fails on a call, as none should; empty where no rule does so by itself."""
    for layer in (policy.guardrail_index, policy.index):
        for _, rule in layer.about(call.tool):
            try:
                matched(rule, call)
            except Exception:  # noqa: BLE001 - whatever it is, it is logged by who asked
                return rule.name
    return ""


def possible(policy: Policy, call: Call) -> list[Answer]:
    """The answers that calls such as this one may get, in any environment and with any arguments."""
    lower: list[Answer] = []
    for position, rule in policy.index.about(call.tool):
        anywhere = unconditional(rule)
        if matched(anywhere, call).holds is False:
            continue
        lower.append(_answer(rule, position, call))
        if anywhere == rule:
            break
    else:
        lower.append(unmatched(call))
    above = [
        (position, rule)
        for position, rule in policy.guardrail_index.about(call.tool)
        if matched(unconditional(rule), call).holds is not False
    ]
    always = [(position, rule) for position, rule in above if unconditional(rule) == rule]
    held = [_tightened(answer, always, call) for answer in lower]
    sometimes = [_tightened(answer, [one], call) for one in above if one not in always for answer in held[:1]]
    return [answer for at, answer in enumerate([*sometimes, *held]) if answer not in [*sometimes, *held][:at]]


def everything_else(call: Call, *, because: str = NO_RULE, more: Sequence[str] = ()) -> Answer:
    """One approval of the agent's team: the answer if no rule matches, or if policy cannot be read."""
    held = (*_holds(call), *more)
    requirement = _narrowed(Requirement.of_own_team(call.agent_team), call, held)
    return Answer(
        action="require",
        text=_sentence(str(requirement), (because, *held)),
        requirement=requirement,
        # Where no rule could be asked, something is wrong, and nothing lifts that.
        held_because=held if because == NO_RULE else (because, *held),
        undecided=tuple(more),
        is_least=True,
    )


def unmatched(call: Call, *, because: str = "no rule matches", more: Sequence[str] = ()) -> Answer:
    """The answer where no rule has one: an approval, save for acts that need nobody then (`tools.acts`)."""
    if not more and needs_nobody(call.tool, call.arguments.tree) and not _holds(call):
        return Answer(action="allow", text="No rule is about it.")
    return everything_else(call, because=because, more=more)


def tighten(lower: Answer, asked: Sequence[Rule], call: Call, *, layer: Layer, because: str) -> Answer:
    """`lower` with all that these rules ask for, as if they were guardrails; `because` says what they are in truth."""
    silent = [rule for rule in asked if rule.team is None]
    if lower.requirement is not None and not lower.is_least:
        # What a rule asks of the agent's own team is a look of its own: no other team that comes in takes it away.
        stages = tuple(stage.model_copy(update={"own": False}) for stage in lower.requirement.stages)
        lower = replace(lower, requirement=lower.requirement.model_copy(update={"stages": stages}))
    found = _tightened(lower, list(enumerate(asked, start=1)), call, silent=silent)
    if found.requirement is None:
        return replace(found, layer=layer, text=because)
    text = _sentence(str(found.requirement), (because, *found.held_because))
    return replace(found, layer=layer, text=text)


def effective_effect(registered: str | None, claimed: str | None) -> str:
    """The stronger of the two effects; what is missing or no effect counts as `once`."""
    rank = {effect: position for position, effect in enumerate(EFFECTS)}
    strongest = len(EFFECTS) - 1
    known = rank.get(registered or "", strongest)
    return EFFECTS[known if claimed is None else max(known, rank.get(claimed, strongest))]


def _by_rules(policy: Policy, call: Call) -> Answer:
    """The answer of the rules alone. One that lets run or denies and cannot be decided holds what comes after it."""
    undecided: list[str] = []
    for position, rule in policy.index.about(call.tool):
        said = matched(rule, call)
        if said.holds is False:
            continue
        if said.holds is None:
            undecided.append(f"rule {rule.name} cannot be decided: {said.why}")
            if rule.action != "require":
                continue
        return _answer(rule, position, call, undecided)
    return unmatched(call, more=undecided)


def _strictest(policy: Policy, call: Call, lower: Answer) -> Answer:
    """The answer of the rules, as far as the guardrails leave it."""
    undecided: list[str] = []
    asked: list[tuple[int, Rule]] = []
    for position, rule in policy.guardrail_index.about(call.tool):
        said = matched(rule, call)
        if said.holds is False:
            continue
        if said.holds is None:
            undecided.append(f"guardrail {rule.name} cannot be decided: {said.why}")
        if said.holds or rule.action == "require":
            asked.append((position, rule))
    return _tightened(lower, asked, call, undecided)


def _tightened(
    lower: Answer,
    asked: Sequence[tuple[int, Rule]],
    call: Call,
    undecided: Sequence[str] = (),
    silent: Sequence[Rule] = (),
) -> Answer:
    """`lower` with all that these guardrails ask for, and held for what could not be decided. `silent` are those of
    them that cannot say more than how many approvals they want."""
    denying = next(((position, rule) for position, rule in asked if rule.action == "deny"), None)
    if denying is not None:
        position, rule = denying
        return Answer(
            action="deny", text=f"Guardrail {rule.name} denies it.", layer="guardrail", rule=rule.name,
            position=position,
        )  # fmt: skip
    if lower.action == "deny" or not (asked or undecided):
        return lower
    held = (*(lower.held_because or _holds(call)), *undecided)
    if not asked:
        needed = lower.requirement or Requirement.of_own_team(call.agent_team)
        needed = _narrowed(needed, call, held)
        return replace(
            lower, action="require", requirement=needed, held_because=held, text=_sentence(str(needed), held),
            undecided=(*lower.undecided, *undecided), is_least=lower.is_least or lower.requirement is None,
        )  # fmt: skip
    wanted = [(_requirement(rule, call), rule in silent) for _, rule in asked]
    position, first = max(asked, key=lambda one: (sum(stage.approvals for stage in one[1].asks), -one[0]))
    if lower.requirement is not None:
        wanted.append((lower.requirement, lower.is_least))
    needed = joined(
        [one for one, is_least in wanted if not is_least], least=[one for one, is_least in wanted if is_least]
    )
    needed = _narrowed(needed, call, held)
    names = " and ".join(rule.name for _, rule in asked)
    return Answer(
        action="require", text=_sentence(str(needed), (f"guardrail {names} asks for it", *held)), layer="guardrail",
        rule=first.name, position=position, requirement=needed, held_because=held,
        undecided=(*lower.undecided, *undecided),
    )  # fmt: skip


def unconditional(rule: Rule) -> Rule:
    """The rule without what depends on the call or its key: it matches wherever that one may."""
    if rule.environment is None and not rule.has_conditions:
        return rule
    return rule.model_copy(update={"environment": None, "when": (), "expression": None})


def _step(layer: Layer, position: int, rule: Rule, call: Call, answer: Answer) -> Step:
    said = tuple(parts(rule, call))
    open_ = next((part for part in said if part.holds is None), None)
    failed = next((part for part in said if part.holds is False), None)
    decisive = failed or open_
    return Step(
        layer=layer,
        position=position,
        rule=rule.name,
        action=rule.action,
        matched=decisive.holds if decisive else True,
        why=decisive.why if decisive else "matches",
        parts=said,
        answers=(answer.layer, answer.position) == (layer, position),
    )


def _answer(rule: Rule, position: int, call: Call, undecided: Sequence[str] = ()) -> Answer:
    if rule.action == "deny":
        return Answer(action="deny", text=f"Rule {rule.name} denies it.", rule=rule.name, position=position)
    held = (*_holds(call), *undecided)
    if call.registered and not call.known and (rule.lets_run or rule.on_timeout == "allow"):
        held = (*held, CHANGED_SINCE)
    if rule.lets_run and not held:
        return _let_run(rule, position)
    requirement = _narrowed(_requirement(rule, call), call, held)
    because = (f"rule {rule.name} would let it run, but it is held", *held) if rule.lets_run else held
    return Answer(
        action="require",
        text=_sentence(str(requirement), because),
        rule=rule.name,
        position=position,
        requirement=requirement,
        held_because=held,
        undecided=tuple(undecided),
        is_least=rule.lets_run,
    )


def _let_run(rule: Rule, position: int) -> Answer:
    if rule.action != "observe":
        text = f"Rule {rule.name} lets it run."
        return Answer(action=rule.action, text=text, rule=rule.name, position=position)
    share = "" if rule.sample_percent == 100 else f" in {rule.sample_percent} of 100 cases"
    return Answer(
        action="observe",
        text=f"Rule {rule.name} lets it run, to be looked at later{share}.",
        rule=rule.name,
        position=position,
        sample_percent=rule.sample_percent,
    )


def _requirement(rule: Rule, call: Call) -> Requirement:
    if rule.lets_run:
        return Requirement.of_own_team(call.agent_team)
    stages = tuple(
        AskedStage(
            team=stage.team or call.agent_team,
            approvals=stage.approvals,
            together=stage.together,
            own=stage.team is None and not rule.stages,
        )
        for stage in rule.asks
    )
    return Requirement(
        stages=stages,
        deny_threshold=rule.deny_threshold,
        deadline_seconds=rule.deadline_seconds,
        on_timeout=rule.on_timeout,
        allowed_decisions=rule.allowed_decisions,
        four_eyes=rule.four_eyes,
        locked_fields=rule.locked_fields,
        sign_in_minutes=rule.sign_in_minutes,
        typed_confirmation=rule.typed_confirmation,
        remind_seconds=rule.remind_seconds,
        escalation=tuple(Rung(**dict(step)) for step in rule.escalation),
    )


def _holds(call: Call) -> tuple[str, ...]:
    """The reasons why this call must not run without a person, whatever a rule says."""
    reasons: list[str] = []
    if not call.registered or call.effect not in EFFECTS:
        reasons.append(NOT_REGISTERED)
    if call.tool == ASK:
        reasons.append("only a person can answer a question")
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
