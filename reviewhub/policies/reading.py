"""Policy as text: reading it strictly, writing it, and warning about rules that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError
from reviewhub_agents import canonical
from reviewhub_agents.wire.words import in_words

from reviewhub.core.errors import Invalid
from reviewhub.policies.arguments import Inexact, number
from reviewhub.policies.implied import implied
from reviewhub.policies.index import is_about
from reviewhub.policies.limit import AMOUNT_PATTERN, Limit
from reviewhub.policies.names import has_wildcard, is_plain, oddities, reads_like
from reviewhub.policies.places import WORDS
from reviewhub.policies.requirement import NAME_PATTERN, PATH_PATTERN
from reviewhub.policies.rules import Policy, Requirement, Rule
from reviewhub.policies.sifting import Names, Sifted

MAX_POLICY_BYTES = 500_000
REGISTER = "Only registered tools run unasked: the agent has to register its tool with PUT /tools/…"
_FORMS = {
    NAME_PATTERN: "Should be one line, without control characters.",
    PATH_PATTERN: "Should be names with dots between them, such as customer.country.",
    AMOUNT_PATTERN: "Should be a number such as 500 or 99.50, with six decimals at most.",
}
"""What patterns mean, for people."""
_Model = TypeVar("_Model", Policy, Requirement, Rule)


@dataclass(frozen=True, kw_only=True)
class Caution:
    """A rule that is legal and yet probably not meant. `position` counts from 1 in its layer."""

    position: int
    rule: str
    code: str
    message: str
    layer: str = "rules"

    @property
    def where(self) -> str:
        """The rule, by number and name."""
        number = f"{WORDS[self.layer]} {self.position}"
        return number if self.rule == number else f"{number}, {self.rule}"


def parse_policy(text: str | bytes) -> Policy:
    """The policy in `text`, JSON of the form `{"guardrails": […], "rules": [{"name": …, "tool": …, "action": …}, …]}`.

    Raises:
        Invalid: with one error per fault and its path; unknown fields, wrong types and duplicate keys are
        faults.
    """
    return _read(text, Policy).in_order()


def policy_text(policy: Policy) -> str:
    """The canonical text of `policy`; what rules leave at its default is left out."""
    return canonical.dumps(policy.model_dump(mode="json", exclude_unset=True))


def rule_text(rule: Rule) -> str:
    """The canonical text of one rule, as `policy_text` writes it."""
    return canonical.dumps(rule.model_dump(mode="json", exclude_unset=True))


def parse_rule(text: str) -> Rule:
    """One rule. Raises Invalid as `parse_policy` does, with paths within the rule."""
    return _read(text, Rule)


def parse_requirement(text: str) -> Requirement:
    """The requirement that `requirement_text` wrote. Raises Invalid for anything else."""
    return _read(text, Requirement)


def requirement_text(requirement: Requirement) -> str:
    """The canonical text of `requirement`, with every field, so that later defaults do not change it."""
    return canonical.dumps(requirement.model_dump(mode="json"))


def cautions(
    policy: Policy, *, tools: Iterable[str] | None = None, seen: Iterable[str] = ()
) -> list[Caution]:
    """What an admin should look at before publishing: rules that an earlier rule hides, or that match no
    tool.

    `tools` are the registered names, None leaves that question out; `seen` are names that were called and that no
    agent registered: nothing lets them run, but a rule may well hold or deny them.
    """
    known = None if tools is None else set(tools)
    registered, named = (None, None) if known is None else (Names(known), Names(known.union(seen)))
    found: list[Caution] = []
    guardrails = [(rule, Sifted(rule.tool)) for rule in policy.guardrails]
    for layer, rules in policy.layers:
        earlier: list[tuple[Rule, Sifted]] = []
        for position, rule in enumerate(rules, start=1):
            sifted = Sifted(rule.tool)
            hidden = (
                _hidden(rule, sifted, earlier) or _guarded(rule, sifted, guardrails)
                if layer == "rules"
                else None
            )
            doubt = (
                hidden or _never_lets_run(rule) or _idle(rule, sifted, registered if rule.lets_run else named)
            )
            earlier.append((rule, sifted))
            if doubt is not None:
                found.append(
                    Caution(position=position, rule=rule.name, code=doubt[0], message=doubt[1], layer=layer)
                )
    for position, limit in enumerate(policy.limits, start=1):
        if named is not None and limit.tool.strip("*") and not _counts(limit, named):
            words = f"No tool is called {limit.tool} so far."
            found.append(
                Caution(
                    position=position,
                    rule=limit.name,
                    code="matches_nothing",
                    message=words,
                    layer="limits",
                )
            )
    return found


def _counts(limit: Limit, named: Names) -> bool:
    """Whether a limit counts calls of any tool that there is."""
    return any(is_about(limit, name) for name in named.covered(Sifted(limit.tool), exactly=False))


def _guarded(rule: Rule, sifted: Sifted, guardrails: Sequence[tuple[Rule, Sifted]]) -> tuple[str, str] | None:
    """Whether a guardrail takes every call that this rule would let run."""
    if not rule.lets_run:
        return None
    for other, wide in guardrails:
        if wide.covers(sifted, exactly=False) and _scope_covers(other, rule):
            does = "denies" if other.action == "deny" else "holds"
            return "guarded", f"Guardrail {other.name} {does} every call that this rule would let run."
    return None


def _hidden(rule: Rule, sifted: Sifted, earlier: Sequence[tuple[Rule, Sifted]]) -> tuple[str, str] | None:
    for position, (other, wide) in enumerate(earlier, start=1):
        if not wide.covers(sifted, exactly=other.lets_run) or not _scope_covers(other, rule):
            continue
        where = f"Rule {position}, {other.name}," if other.name != f"Rule {position}" else other.name
        if rule.lets_run or not other.lets_run:
            return "hidden", f"{where} answers every call that this rule could answer."
        return "hidden_for_known_tools", f"{where} lets those calls run first; move this rule above it."
    return None


def _scope_covers(other: Rule, rule: Rule) -> bool:
    exactly = rule.lets_run or not other.lets_run
    for wide in other.when:
        if not any(implied(wide, by, exactly=exactly) for by in rule.when):
            return False
    if other.expression not in (None, rule.expression):
        return False
    return all(
        wide is None
        or wide == narrow
        or (not other.lets_run and narrow is not None and reads_like(wide, narrow))
        for wide, narrow in (
            (other.agent, rule.agent),
            (other.agent_team, rule.agent_team),
            (other.environment, rule.environment),
        )
    )


def _never_lets_run(rule: Rule) -> tuple[str, str] | None:
    if not rule.lets_run:
        return None
    literal = rule.tool.replace("*", "").replace("?", "")
    if has_wildcard(rule.tool) and literal and not is_plain(literal):
        return "never_matches", "A pattern lets only names in plain ASCII run; name this tool in full."
    if odd := oddities(rule.tool):
        return "held", f"The name holds the {odd[0]}, so calls of this tool wait for a person all the same."
    return None


def _idle(rule: Rule, sifted: Sifted, tools: Names | None) -> tuple[str, str] | None:
    if tools is None or any(True for _ in tools.covered(sifted, exactly=rule.lets_run)):
        return None
    if rule.lets_run:
        return (
            "matches_nothing",
            f"Matched 0 calls. No registered tool is called {rule.tool}, so nothing runs by it. {REGISTER}",
        )
    is_for_all = not rule.tool.strip("*")
    return (
        None if is_for_all else ("matches_nothing", f"Matched 0 calls: no tool is called {rule.tool} so far.")
    )


def _read(text: str | bytes, model: type[_Model]) -> _Model:
    try:
        tree = canonical.parse(text, max_bytes=MAX_POLICY_BYTES, max_depth=10)
        if faults := _inexact(tree, ""):
            raise Invalid(f"{faults[0]['path']}: {faults[0]['message']}", errors=faults)
        return model.model_validate_json(canonical.dumps(tree))
    except canonical.BadJson as error:
        raise Invalid(str(error), errors=_faults(error)) from error
    except ValidationError as error:
        errors = _errors(error)
        raise Invalid(f"{errors[0]['path'] or '/'}: {errors[0]['message']}", errors=errors) from error


def _inexact(tree: canonical.Tree, path: str) -> list[dict[str, str]]:
    """The numbers that would be other ones once read."""
    if isinstance(tree, dict):
        return [fault for key, value in tree.items() for fault in _inexact(value, f"{path}/{key}")]
    if isinstance(tree, list):
        return [fault for at, value in enumerate(tree) for fault in _inexact(value, f"{path}/{at}")]
    if isinstance(tree, canonical.Number):
        try:
            number(tree)
        except Inexact as error:
            return [{"path": path, "code": "inexact", "message": f"{error}."}]
    return []


def _faults(error: canonical.BadJson) -> list[dict[str, str]]:
    return [
        {"path": fault["path"], "code": fault["code"], "message": fault["message"]} for fault in error.errors
    ]


def _errors(error: ValidationError) -> list[dict[str, str]]:
    return [
        {
            # What is wrong between fields, or between rules, says itself which one to mend.
            "path": canonical.pointer(each["loc"]) + str(each.get("ctx", {}).get("path", "")),
            "code": each["type"],
            "message": _FORMS.get(str(each.get("ctx", {}).get("pattern", "")))
            or in_words(each["type"], each["msg"], each.get("ctx", {})),
        }
        for each in error.errors(include_url=False, include_input=False)
    ]
