"""Which tools are gated, and by which rule: what an admin looks at to see that nothing slips past."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reviewhub.policies import rules
from reviewhub.policies.evaluate import InForce, call_of, in_force, without_policy
from reviewhub.policies.facts import facts_of_tool
from reviewhub.policies.limit import Limit
from reviewhub.policies.names import fold_case, fold_look, taken_for
from reviewhub.tools.models import Tool

WORDS = {"allow": "Runs", "observe": "Runs, marked", "require": "Waits", "deny": "Denied"}
SILENT = "Waits, runs if nobody answers"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What policy says to calls of one tool: one answer, or several, when it depends on the call which one it is."""

    answers: tuple[rules.Answer, ...]
    limits: tuple[tuple[int, Limit], ...] = ()
    """Those that count its calls, each with its number."""

    @property
    def words(self) -> str:
        """The answer in a word or two."""
        if len(self.answers) == 1:
            return SILENT if _by_silence(self.answers[0]) else WORDS[self.answers[0].action]
        return "Waits or is denied" if self.is_gated else "Depends on the call"

    @property
    def action(self) -> str:
        """The answer that every call of the tool gets; empty when it depends on the call whether it runs."""
        if len(self.answers) == 1 and not _by_silence(self.answers[0]):
            return self.answers[0].action
        return "require" if self.is_gated else ""

    @property
    def is_gated(self) -> bool:
        """Whether no call of the tool runs without somebody's yes."""
        return all(
            answer.action in ("require", "deny") and not _by_silence(answer) for answer in self.answers
        )

    @property
    def held_because(self) -> tuple[str, ...]:
        """What holds calls that a rule would let run."""
        return tuple(dict.fromkeys(reason for answer in self.answers for reason in answer.held_because))


def gates(workspace_id: uuid.UUID, tools: Sequence[Tool]) -> list[Gate]:
    """The gate of each tool, in their order, by the policy in force. Tools come with their agent and its team."""
    now = in_force(workspace_id)
    return [_gate(now, tool) for tool in tools]


def look_alikes(tools: Iterable[Tool]) -> dict[uuid.UUID, str]:
    """By id, those tools whose name reads like another tool's, or is easily taken for it, with that other name."""
    first: dict[str, str] = {}
    found: dict[uuid.UUID, str] = {}
    for tool in sorted(tools, key=lambda tool: (not tool.is_registered, tool.first_seen_at, tool.pk)):
        for folded in {fold_case(tool.name), fold_look(tool.name), taken_for(tool.name)}:
            other = first.setdefault(folded, tool.name)
            if other != tool.name:
                found[tool.pk] = other
    return found


def _by_silence(answer: rules.Answer) -> bool:
    """Whether a call with this answer runs when nobody says anything in time."""
    return answer.requirement is not None and answer.requirement.on_timeout == "allow"


def _gate(now: InForce, tool: Tool) -> Gate:
    call = call_of(facts_of_tool(tool), agent=tool.agent, environment="", tools=now.tools)
    if now.policy is None:
        return Gate(answers=(without_policy(now, call),))
    counting = tuple(
        (position, limit)
        for position, limit in enumerate(now.policy.limits, start=1)
        if limit.is_about(
            tool=tool.name,
            agent=tool.agent.name,
            agent_team=tool.agent.team.name,
            environment=limit.environment or "",
        )
    )
    return Gate(answers=tuple(rules.possible(now.policy, call)), limits=counting)
