"""What the verdict of a verifier counts for, as policy says: a check that is shown, a gate, a reason to plan anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reviewhub_agents import canonical

from reviewhub.accounts.models import Agent
from reviewhub.policies.evaluate import Resolved, evaluate, names_verdicts
from reviewhub.policies.facts import call_facts
from reviewhub.tools.acts import VERDICT
from reviewhub.tools.see import known

MAX_NAME = 100


class Weight(StrEnum):
    """`default`: no rule is about it. The others are what a rule that allows, requires or denies it means."""

    DEFAULT = "default"
    CHECK = "check"
    GATE = "gate"
    REPLAN = "replan"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict of verifier `name` on a call of `tool`; `status` is pending where it is not given yet."""

    name: str
    tool: str
    judges: str
    status: str


def weights(*, agent: Agent, environment: str, judgements: Sequence[Judgement]) -> list[Weight]:
    """The weight of each, in order; one look at the policy where no rule of it is about a verifier."""
    if not judgements or not names_verdicts(agent.workspace_id):
        return [Weight.DEFAULT] * len(judgements)
    tools = known(agent=agent, names={_act(one) for one in judgements})
    facts = [
        call_facts(
            tool=tools[_act(one)],
            arguments=canonical.dumps({"tool": one.tool, "judges": one.judges, "status": one.status}),
        ).facts
        for one in judgements
    ]
    answers = evaluate(workspace_id=agent.workspace_id, agent=agent, environment=environment, calls=facts)
    return [_weight(answer) for answer in answers]


def counting(*, agent: Agent, environment: str, tool: str, failed: Iterable[str]) -> tuple[str, ...]:
    """Of the checks that an agent reports as failed those that hold its call: a rule may say that one is only shown."""
    names = tuple(failed)
    asked = [Judgement(name=name, tool=tool, judges="proposal", status="failed") for name in names]
    found = weights(agent=agent, environment=environment, judgements=asked)
    return tuple(name for name, weight in zip(names, found, strict=True) if weight is not Weight.CHECK)


def _act(one: Judgement) -> str:
    # A name that no act can have is one that no rule is about.
    name = one.name if one.name and one.name.isprintable() else "-"
    return f"{VERDICT}{name[:MAX_NAME]}"


def _weight(answer: Resolved) -> Weight:
    if answer.action == "deny":
        return Weight.REPLAN
    if answer.action == "require":
        return Weight.GATE
    return Weight.DEFAULT if answer.rule is None else Weight.CHECK
