"""Forward progress in words: a share, a time, and both of each agent."""

from __future__ import annotations

import uuid

from reviewhub.accounts.models import Agent
from reviewhub.core.display.durations import MINUTE, length
from reviewhub.core.display.shares import percent
from reviewhub.hosting.goodput.queries import spent_by_agent

DAYS = 30
SHORT = 60.0
"""Seconds of work below which forward progress says nothing."""


def long(seconds: float) -> str:
    """`0.42 ms`, `420 ms`, `4.2 s`, then `9 m` and so on."""
    if seconds >= MINUTE:
        return length(seconds)
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 or not seconds else f"{seconds * 1000:.2f} ms"


def told_of_agents(agents: list[Agent]) -> dict[uuid.UUID, tuple[str, str]]:
    """Of hosted agents that worked in the last DAYS: forward progress (empty if too short), and of how much work."""
    hosted = [agent.pk for agent in agents if agent.runner == Agent.Runner.HOSTED]
    told = {}
    for pk, spent in spent_by_agent(hosted, days=DAYS).items() if hosted else ():
        counted = spent.useful + spent.replay + spent.recovery + spent.overhead
        told[pk] = ("" if counted < SHORT else percent(spent.progress), long(counted))
    return told
