"""What another policy would do with a call, against what one does. Pure."""

from __future__ import annotations

from typing import Literal

from reviewhub.policies.rules import Answer

Change = Literal["held", "freed", "denied", "rerouted"]
RUNS = ("allow", "observe")
MOST_NAMED = 10
UNDECIDED = "undecided"
"""The heading of calls on which a rule could not be decided, whatever became of them."""


def asks(answer: Answer) -> str:
    """Whom an answer asks, in words, and whether silence is a yes; empty when it asks nobody."""
    needed = answer.requirement
    if needed is None:
        return ""
    return f"{needed}, or nobody in time" if needed.on_timeout == "allow" else str(needed)


def undecided_words(answer: Answer) -> str:
    """Which rules could not be decided, and why, in words, the first so many of them; empty when all were."""
    more = len(answer.undecided) - MOST_NAMED
    return "; ".join([*answer.undecided[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def change_of(before: Answer, after: Answer) -> Change | None:
    """How `after` treats the call otherwise than `before`; None when it does not.

    `held`: it waits and did not (it ran, or was denied). `freed`: it runs and did not. `rerouted`: it waits for
    other people or for more of them, or silence is a yes for one of both only. That it runs and is marked for a later
    look is no change.
    """
    if after.action in RUNS:
        return None if before.action in RUNS else "freed"
    if after.action == "deny":
        return None if before.action == "deny" else "denied"
    if before.action != "require":
        return "held"
    return None if asks(before) == asks(after) else "rerouted"
