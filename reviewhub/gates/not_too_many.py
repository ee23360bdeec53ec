"""An agent that asks for more than people could ever look at is told to wait, and nothing of it is kept."""

from __future__ import annotations

from django.conf import settings

from reviewhub.accounts.models import Agent
from reviewhub.core.errors import SlowDown
from reviewhub.policies.rules import Policy
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState

RETRY_SECONDS = 60


class TooManyWaiting(SlowDown):
    """This agent has as many requests waiting for people as it may have. Nothing was stored."""

    retry_seconds = RETRY_SECONDS


def not_too_many(*, agent: Agent, more: int, policy: Policy | None) -> None:
    """Returns when an agent may have `more` requests waiting beside those that wait, by the policy in force.

    Asked once before anything is written and once more at the end of the transaction, where the requests are there
    (`more` 0) and the workspace's count of numbers is locked: then no other pause is in between.

    A request about an unknown outcome is never asked this, since it may not get lost; it counts like any other, since
    people have to look at it like at any other.

    Raises:
        TooManyWaiting: with the limit.
    """
    limit = most_waiting(agent, policy)
    rows = ReviewRequest.objects.filter(agent=agent, state=RequestState.PENDING)
    found = rows.order_by()[: limit + 1].count()
    if found + more > limit:
        raise TooManyWaiting(
            f"No more than {limit} requests of this agent may wait for people. Nothing was stored.",
            limit=limit,
        )


def most_waiting(agent: Agent, policy: Policy | None) -> int:
    """The least of what the server and a policy allow this agent."""
    limits = [settings.LIMIT_WAITING_REQUESTS]
    for one in policy.waiting if policy is not None else ():
        if one.is_about(agent=agent.name, agent_team=agent.team.name):
            limits.append(one.most)
    return min(limits)
