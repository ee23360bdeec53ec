"""What a backtest counts. Pure: it takes what two policies say to a call and what people once decided."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from reviewhub.policies.compare import RUNS, UNDECIDED, change_of
from reviewhub.policies.rules import Answer

MOST_TOOLS = 500
MOST_UNDECIDED = 100
FEWEST_APPROVED = 5
"""From so many approvals on a tool counts as one that is always approved."""
LET_REJECTED = "rejected"
FAILED = "failed"


@dataclass(frozen=True)
class AlwaysApproved:
    """A tool of which the draft holds calls although people approved every one that they decided."""

    agent: str
    tool: str
    held: int
    approved: int


@dataclass
class Tally:
    """The figures so far. `teams`: how many approvals are asked of each, by the policy in force and by the draft."""

    calls: int = 0
    waits_now: int = 0
    waits_then: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    teams: dict[str, list[int]] = field(default_factory=dict)
    tools: dict[str, list[int]] = field(default_factory=dict)
    undecided: dict[str, int] = field(default_factory=dict)
    """How many calls the draft could not decide, by rule and reason in words."""
    taken: dict[str, dict[str, int]] = field(default_factory=dict)
    """What is taken of each limit, in millionths by part of its time (`insights.beside`)."""
    uses: dict[str, int] = field(default_factory=dict)
    """How often each standing approval was used."""

    def add(self, *, agent: str, tool: str, before: Answer, after: Answer | None, decided: str) -> list[str]:
        """Counts one call; under which headings it belongs.

        Args:
            before: what the policy in force says.
            after: what the draft says; None when it failed.
            decided: what people last decided on it (approve, edit, reject, respond); empty when nobody did.
        """
        self.calls += 1
        self._ask(before, 0)
        if after is None:
            return self._under([FAILED])
        self._ask(after, 1)
        for words in after.undecided:
            if words in self.undecided or len(self.undecided) < MOST_UNDECIDED:
                self.undecided[words] = self.undecided.get(words, 0) + 1
        found: list[str] = []
        if change := change_of(before, after):
            found.append(change)
        if decided == "reject" and after.action in RUNS:
            found.append(LET_REJECTED)
        if after.undecided:
            found.append(UNDECIDED)
        if after.action == "require":
            self._still_held(f"{agent}\n{tool}", decided)
        return self._under(found)

    @property
    def always_approved(self) -> list[AlwaysApproved]:
        """Tools that the draft holds and people always approve, the busiest first."""
        found = []
        for key, (held, approved, other) in self.tools.items():
            if approved >= FEWEST_APPROVED and not other:
                agent, tool = key.split("\n", 1)
                found.append(AlwaysApproved(agent, tool, held, approved))
        return sorted(found, key=lambda one: (-one.approved, one.agent, one.tool))

    def dumps(self) -> str:
        """The figures as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Tally:
        """What `dumps` wrote."""
        return cls(**json.loads(text))

    def _ask(self, answer: Answer, at: int) -> None:
        needed = answer.requirement
        if needed is None:
            return
        if at:
            self.waits_then += 1
        else:
            self.waits_now += 1
        for stage in needed.stages:
            self.teams.setdefault(stage.team, [0, 0])[at] += stage.approvals

    def _still_held(self, key: str, decided: str) -> None:
        if key not in self.tools and len(self.tools) >= MOST_TOOLS:
            return
        counts = self.tools.setdefault(key, [0, 0, 0])
        counts[0] += 1
        if decided:
            counts[1 if decided == "approve" else 2] += 1

    def _under(self, headings: list[str]) -> list[str]:
        for one in headings:
            self.changes[one] = self.changes.get(one, 0) + 1
        return headings
