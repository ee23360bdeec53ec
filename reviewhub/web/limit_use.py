"""The use of limits, as the pages of policy and tools show it beside each limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub.accounts.permissions import MemberCaller, scope_of
from reviewhub.limits.usage import Use, usage
from reviewhub.policies.limit import Limit, WaitingLimit
from reviewhub.reviews.queries import Waiting, waiting_by_agent

MOST_SHOWN = 5
"""Agents of one limit; the fullest come first, and the rest are counted."""


@dataclass(frozen=True)
class LimitLine:
    """A limit with what is taken of it; `more` agents have taken something, too."""

    limit: Limit
    uses: list[Use]
    more: int


@dataclass(frozen=True)
class WaitingLine:
    """A limit of waiting requests with how many wait."""

    limit: WaitingLimit
    uses: list[Waiting]
    more: int


def limit_lines(caller: MemberCaller, limits: Sequence[Limit], *, is_live: bool) -> list[LimitLine]:
    """The limits with their use; nothing counts on those of a version that is not in force."""
    found = usage(scope_of(caller), limits if is_live else ())
    uses = [found.by_limit(limit) for limit in limits]
    return [
        LimitLine(limit, some[:MOST_SHOWN], len(some[MOST_SHOWN:]))
        for limit, some in zip(limits, uses, strict=True)
    ]


def waiting_lines(
    caller: MemberCaller, limits: Sequence[WaitingLimit], *, is_live: bool
) -> list[WaitingLine]:
    """The limits of waiting requests with how many of each agent wait."""
    waiting = waiting_by_agent(scope_of(caller)) if limits and is_live else []
    found = []
    for limit in limits:
        some = [one for one in waiting if limit.is_about(agent=one.agent, agent_team=one.agent_team)]
        found.append(WaitingLine(limit, some[:MOST_SHOWN], len(some[MOST_SHOWN:])))
    return found
