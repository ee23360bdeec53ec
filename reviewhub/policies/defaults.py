"""The policy of a new workspace."""

from __future__ import annotations

from reviewhub.policies.reading import policy_text
from reviewhub.policies.rules import Policy, Rule

DAY = 24 * 3600
NOTE = "The policy that every workspace begins with"


def first_policy() -> str:
    """The rules of the first policy, as text: one approval for everything, denied when nobody answers in a day."""
    everything = Rule(
        name="One approval within a day", tool="*", action="require", approvals=1, deadline_seconds=DAY
    )
    return policy_text(Policy(rules=(everything,)))
