"""Who decided: everybody whose vote a decision rests on, not only whose vote completed it."""

from __future__ import annotations

from collections.abc import Iterable

from reviewhub.reviews.models import Review
from reviewhub.toolcalls.models import Decision

RESTS_ON = {"approve": ("approve", "edit"), "edit": ("approve", "edit"), "reject": ("reject",)}


def deciders(decision: Decision, votes: Iterable[Review]) -> list[str]:
    """The names, in the order of voting; of a decision that no votes made, whoever made it.

    Args:
        votes: those that are not void, the oldest first.
    """
    verdicts = RESTS_ON.get(decision.type, ())
    names = [
        vote.name
        for vote in votes
        if (vote.request_id, vote.version) == (decision.request_id, decision.version)
        and vote.verdict in verdicts
    ]
    return list(dict.fromkeys(names)) if names and decision.by_kind == "person" else [decision.by_name]
