"""What may happen to a tool call when somebody wants to run it, or finds it after a crash: pure tables.

The rule behind both: a call with effect `once` gets one attempt, and what nobody knows the end of goes to a person.
Everything else may run again, for running it again does no harm.
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


class AtRecovery(StrEnum):
    """What a worker does with a call that it finds while it goes on with a branch."""

    RUN = "run"  # consume and run it
    WAIT = "wait"  # a person or a living owner has it
    USE_RESULT = "use_result"  # it ended: its result, error or refusal is the answer
    MARK_UNKNOWN = "mark_unknown"  # it may or may not have happened: ask a person


def at_consume(
    *, state: str, effect: str, same_key: bool, twins: Collection[str] = (), attempt_left: bool = True
) -> AtConsume:
    """What happens when a call is to be consumed.

    Args:
        state: of the call.
        effect: the effective one; whatever is not `read` or `idempotent` counts as `once`.
        same_key: whether the idempotency key is that of the attempt under way.
        twins: states of equal calls on other branches of the run.
        attempt_left: whether the tool's retry policy allows one more attempt.
    """
    if state in ("started", "succeeded", "failed") and same_key:
        return AtConsume.SAME_ANSWER
    if state == "allowed":
        in_doubt = not repeatable(effect) and any(twin in ("started", "unknown") for twin in twins)
        return AtConsume.TWIN_IN_DOUBT if in_doubt else AtConsume.FRESH_ATTEMPT
    if state in ("started", "failed"):
        again = repeatable(effect) and attempt_left
        return AtConsume.FRESH_ATTEMPT if again else AtConsume.ALREADY_CONSUMED
    if state == "succeeded":
        return AtConsume.ALREADY_CONSUMED
    return AtConsume.NOT_ALLOWED


def at_recovery(*, state: str, effect: str, owner_alive: bool, attempt_left: bool = True) -> AtRecovery:
    """What happens to a call that a worker finds in `state` when it takes a branch over.

    Args:
        owner_alive: whether whoever started the attempt still renews its lease; a slow owner is not a dead one.
        attempt_left: whether the tool's retry policy allows one more attempt.
    """
    if state == "allowed":
        return AtRecovery.RUN
    if state == "started":
        if owner_alive:
            return AtRecovery.WAIT
        again = repeatable(effect) and attempt_left
        return AtRecovery.RUN if again else AtRecovery.MARK_UNKNOWN
    if state in ("succeeded", "failed", "denied", "skipped"):
        return AtRecovery.USE_RESULT
    return AtRecovery.WAIT


def repeatable(effect: str) -> bool:
    """Whether running a call with this effect once more does no harm."""
    return effect in ("read", "idempotent")
