"""Limits as fields of the policy editor: how often or for how much, and how many requests may wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviewhub_agents import canonical

from reviewhub.policies.limit import Limit, WaitingLimit
from reviewhub.web.policy_times import Unread, duration_words, seconds_of, whole

MOST_LIMITS = 50
LIMIT_FIELDS = (
    "name", "tool", "agent", "agent_team", "environment", "per", "window", "sum_of", "most", "then", "team",
    "approvals", "deadline",
)  # fmt: skip
_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?")
WAITING_FIELDS = ("name", "agent", "agent_team", "most")


@dataclass(frozen=True)
class LimitForm:
    """One limit as its fields."""

    name: str = ""
    tool: str = ""
    agent: str = ""
    agent_team: str = ""
    environment: str = ""
    per: str = "agent"
    window: str = "1 h"
    sum_of: str = ""
    most: str = ""
    then: str = "require"
    team: str = ""
    approvals: str = "1"
    deadline: str = ""

    @property
    def in_short(self) -> str:
        """What it says, in a line."""
        what = (
            f"{self.sum_of.strip()} up to {self.most.strip()}"
            if self.sum_of.strip()
            else f"{self.most.strip()} calls"
        )
        each = "all together" if self.per == "all" else "each agent"
        return f"{self._about}: {what} in {self.window.strip()}, {each}; beyond it {self._beyond}"

    @property
    def _about(self) -> str:
        by = self.agent or (f"agents of {self.agent_team}" if self.agent_team else "")
        where = f" in {self.environment.strip()}" if self.environment.strip() else ""
        return f"{self.tool.strip() or 'no tool yet'}{f' by {by}' if by else ''}{where}"

    @property
    def _beyond(self) -> str:
        if self.then != "require":
            return "denied"
        until = f", deadline {self.deadline.strip()}" if self.deadline.strip() else ", no deadline"
        return f"{self.approvals.strip()} from {self.team or 'the agent’s team'}{until}"

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names, as they are written."""
        return {self.team, self.agent_team} - {""}

    @classmethod
    def of(cls, limit: Limit) -> LimitForm:
        """The fields of a published limit."""
        return cls(
            name=limit.name,
            tool=limit.tool,
            agent=limit.agent or "",
            agent_team=limit.agent_team or "",
            environment=limit.environment or "",
            per=limit.per,
            window=duration_words(limit.window_seconds),
            sum_of=limit.sum_of or "",
            most=str(limit.most),
            then=limit.then,
            team=limit.team or "",
            approvals=str(limit.approvals),
            deadline=duration_words(limit.deadline_seconds),
        )

    def tree(self) -> dict[str, Any]:
        """The limit as the policy's text has it."""
        found = _given(self, ("agent", "agent_team", "environment", "sum_of"))
        found |= {"name": self.name.strip(), "tool": self.tool.strip(), "per": self.per, "then": self.then}
        found |= {"window_seconds": seconds_of(self.window), "most": _most(self.most)}
        if self.then == "require":
            found |= _given(self, ("team",)) | {"approvals": whole(self.approvals)}
            if self.deadline.strip():
                found["deadline_seconds"] = seconds_of(self.deadline)
        return found


@dataclass(frozen=True)
class WaitingForm:
    """How many requests may wait, as its fields."""

    name: str = ""
    agent: str = ""
    agent_team: str = ""
    most: str = ""

    @property
    def in_short(self) -> str:
        """What it says, in a line."""
        return f"{self.most.strip()} requests of {self.agent or 'each agent'}"

    @property
    def named_teams(self) -> set[str]:
        """The teams that it names, as they are written."""
        return {self.agent_team} - {""}

    @classmethod
    def of(cls, limit: WaitingLimit) -> WaitingForm:
        """The fields of a published one."""
        return cls(limit.name, limit.agent or "", limit.agent_team or "", str(limit.most))

    def tree(self) -> dict[str, Any]:
        """As the policy's text has it."""
        return _given(self, ("agent", "agent_team")) | {"name": self.name.strip(), "most": _most(self.most)}


def read_limits(given: Mapping[str, Any]) -> list[LimitForm]:
    """The limits as they were filled in."""
    return [LimitForm(**one) for one in _read(given, "lcount", "l", LIMIT_FIELDS)]


def read_waiting(given: Mapping[str, Any]) -> list[WaitingForm]:
    """How many requests may wait, as it was filled in."""
    return [WaitingForm(**one) for one in _read(given, "wcount", "w", WAITING_FIELDS)]


def _read(
    given: Mapping[str, Any], counted: str, letter: str, fields: tuple[str, ...]
) -> list[dict[str, str]]:
    count = str(given.get(counted, "0"))
    many = min(int(count), MOST_LIMITS) if count.isascii() and count.isdecimal() and len(count) < 5 else 0
    return [{name: str(given.get(f"{letter}{at}-{name}", ""))[:400] for name in fields} for at in range(many)]


def _given(form: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(form, name).strip())}


def _most(text: str) -> Any:
    """A whole number as a number, any other as the text that it is."""
    bare = text.strip()
    if not _AMOUNT.fullmatch(bare):
        return Unread(text, "Write a number such as 500 or 99.50.")
    return bare if "." in bare else canonical.Number(bare)
