"""Whether a rule matches a call, part by part: tool, agent, team, environment, conditions. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reviewhub.policies import conditions, expressions
from reviewhub.policies.call import Call
from reviewhub.policies.index import is_about
from reviewhub.policies.model import EFFECTS, Rule
from reviewhub.policies.names import reads_like


@dataclass(frozen=True)
class Part:
    """What one part of a rule says to a call. `holds` None: it cannot be decided."""

    what: str
    holds: bool | None
    why: str


def parts(rule: Rule, call: Call) -> Iterator[Part]:
    """The parts of a rule, in the order in which they are looked at. One that does not hold ends it."""
    if not is_about(rule, call.tool):
        like = "is not exactly" if rule.lets_run else "does not read like"
        yield Part("tool", holds=False, why=f"the tool {like} {rule.tool}")
        return
    yield from parts_beside_tool(rule, call)


def parts_beside_tool(rule: Rule, call: Call) -> Iterator[Part]:
    """As `parts`, for a rule that is about the tool of the call."""
    if rule.lets_run and (not call.registered or call.effect not in EFFECTS):
        yield Part(
            "tool", holds=False, why="would match, but the tool is not registered, so nothing lets it run"
        )
        return
    yield Part("tool", holds=True, why=f"the tool is {rule.tool}")
    for what, wanted, given in (
        ("agent", rule.agent, call.agent),
        ("agent's team", rule.agent_team, call.agent_team),
        ("environment", rule.environment, call.environment),
    ):
        if wanted is not None:
            same = wanted == given if rule.lets_run else reads_like(wanted, given)
            yield Part(what, same, f"for {what} {wanted} only" if not same else f"the {what} is {wanted}")
    for condition in rule.when:
        tested = conditions.test(condition, call.arguments, lets_run=rule.lets_run)
        yield Part("condition", tested.holds, tested.why)
    if rule.expression is not None:
        tested = expressions.run(rule.expression, call.arguments, call.about)
        yield Part("expression", tested.holds, tested.why)


def matched(rule: Rule, call: Call) -> Part:
    """Whether a rule that is about the tool matches: its first part that does not hold, else the first that cannot be
    decided, else a part that holds."""
    undecided: Part | None = None
    for part in parts_beside_tool(rule, call):
        if part.holds is False:
            return part
        if part.holds is None and undecided is None:
            undecided = part
    return undecided or Part("rule", holds=True, why="matches")
