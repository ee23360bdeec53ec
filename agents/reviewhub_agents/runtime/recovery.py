"""What to do about a call, from what the ledger says. Pure: the whole answer to "may it run (again)?"."""

from __future__ import annotations

from enum import StrEnum

from .store import Effect


class Move(StrEnum):
    """What comes next for a call."""

    RUN = "run"
    USE = "use"
    WAIT = "wait"
    ASK = "ask"


def next_move(*, state: str, effect: Effect, attempt: int, tries: int) -> Move:
    """The next move for a call that this process did not start itself.

    A call that was started and has no outcome was started by a process that is gone. Reading again, or doing again
    what may be done twice, is safe; of a `once` call nobody knows whether it happened, so a person is asked, and it
    is never run on a guess.

    Args:
        attempt: how often it was started.
        tries: how often a `read` or `idempotent` call may be started when it fails.

    Raises:
        ValueError: there is no such state.
    """
    if state in {"proposed", "waiting", "unknown"}:
        return Move.WAIT
    if state == "allowed":
        return Move.RUN
    if state == "started":
        return Move.ASK if effect == "once" else Move.RUN
    if state == "failed":
        return Move.RUN if effect != "once" and attempt < tries else Move.USE
    if state in {"succeeded", "denied", "skipped"}:
        return Move.USE
    raise ValueError(f"unknown state of a call: {state!r}")
