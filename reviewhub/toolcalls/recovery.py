"""What may happen to a tool call when somebody wants to run it: a pure table.

A call with effect `once` gets one attempt, and what nobody knows the end of goes to a person. Everything else may run
again, for running it again does no harm. What a worker does with a call that it finds after a crash is the runtime's:
`reviewhub_agents.runtime`.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class AtConsume(StrEnum):
    """What the server answers to somebody who wants to run a call now."""

    FRESH_ATTEMPT = "fresh_attempt"  # count an attempt, mark it started, hand out the arguments
    SAME_ANSWER = "same_answer"  # the same process asks again: the attempt it has already
    ALREADY_CONSUMED = "already_consumed"  # 409: another process had it, and it must not run twice
    NOT_ALLOWED = "not_allowed"  # 409: nobody said yes, or a person has to look first
    TWIN_IN_DOUBT = "twin_in_doubt"  # 409: an equal call is under way or unknown on another branch


def at_consume(
    *,
    state: str,
    effect: str,
    same_key: bool,
    spent_key: bool = False,
    twins: Collection[str] = (),
    attempt_left: bool = True,
) -> AtConsume:
    """What happens when a call is to be consumed.

    Args:
        state: of the call.
        effect: the effective one; whatever is not `read` or `idempotent` counts as `once`.
        same_key: whether the idempotency key is that of the attempt under way.
        spent_key: whether it is that of an earlier attempt: whoever holds it was told to go once, and not again.
        twins: states of equal calls on other branches of the run.
        attempt_left: whether the tool's retry policy allows one more attempt.
    """
    if state in ("started", "succeeded", "failed") and same_key:
        return AtConsume.SAME_ANSWER
    if state in ("allowed", "started", "succeeded", "failed") and spent_key:
        return AtConsume.ALREADY_CONSUMED
    if state == "allowed":
        in_doubt = not repeatable(effect) and any(twin in ("started", "unknown") for twin in twins)
        return AtConsume.TWIN_IN_DOUBT if in_doubt else AtConsume.FRESH_ATTEMPT
    if state in ("started", "failed"):
        again = repeatable(effect) and attempt_left
        return AtConsume.FRESH_ATTEMPT if again else AtConsume.ALREADY_CONSUMED
    if state == "succeeded":
        return AtConsume.ALREADY_CONSUMED
    return AtConsume.NOT_ALLOWED


def repeatable(effect: str) -> bool:
    """Whether running a call with this effect once more does no harm."""
    return effect in ("read", "idempotent")
