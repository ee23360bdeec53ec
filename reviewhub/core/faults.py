"""Named fault points: places where a test (or `make chaos`) lets a process die, fail or stall.

`REVIEWHUB_FAULT="name:kill"` arms one for a whole process: `kill` is SIGKILL (`kill:3` at the third time), `term`
SIGTERM likewise, `raise` raises Fault, `sleep:0.5` waits half a second. Nothing is armed otherwise, and a point costs
one look-up in an empty dict.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POINTS = (
    "pause.before_commit",
    "pause.after_commit",
    "checkpoint.before_commit",
    "checkpoint.after_commit",
    "decide.before_commit",
    "decide.after_commit",
    "consume.before_commit",
    "consume.after_commit",
    "outcome.before_commit",
    "outcome.after_commit",
    "start_child.before_commit",
    "start_child.after_commit",
    "wait_for.before_commit",
    "wait_for.after_commit",
    "child_ended.before_commit",
    "fork.before_commit",
    "resume.after_claim",
    "resume.before_settle",
    "prune.before_commit",
    "prune.after_commit",
    "erase.before_commit",
    "erase.after_commit",
    "seal.positions",
    "seal.before_commit",
    "seal.after_commit",
    "blobs.listed",
    "blobs.put",
    "blobs.verified",
    "blobs.before_commit",
    "blobs.after_commit",
    "blobs.going",
    "blobs.gone",
)


class Fault(Exception):
    """A fault point that a test has armed."""


_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM}
_armed: dict[str, Callable[[], None]] = {}


def point(name: str) -> None:
    """Does nothing unless `name` is armed."""
    if _armed and name in _armed:
        _armed[name]()


@contextmanager
def armed(name: str, act: Callable[[], None] | None = None) -> Iterator[None]:
    """Arms one point for a while; without `act` it raises Fault."""
    if name not in POINTS:
        raise ValueError(f"unknown fault point {name!r}")

    def fail() -> None:
        raise Fault(name)

    _armed[name] = act or fail
    try:
        yield
    finally:
        del _armed[name]


def arm_from_environment() -> None:
    """Arms what REVIEWHUB_FAULT names; an unknown name or act stops the start."""
    for entry in filter(None, os.environ.get("REVIEWHUB_FAULT", "").split(",")):
        name, _, act = entry.partition(":")
        if name not in POINTS:
            raise ValueError(f"unknown fault point {name!r}")
        _armed[name] = _act(name, act)


def _act(name: str, act: str) -> Callable[[], None]:
    kind, _, value = act.partition(":")
    if kind in _SIGNALS:
        return _signal_at(_SIGNALS[kind], int(value or 1))
    if kind == "sleep":
        seconds = float(value)
        return lambda: time.sleep(seconds)
    if kind == "raise":

        def fail() -> None:
            raise Fault(name)

        return fail
    raise ValueError(f"unknown act {act!r} for fault point {name!r}")


def _signal_at(number: signal.Signals, time_number: int) -> Callable[[], None]:
    """A signal for this process when the point is passed for the nth time."""
    passed = 0

    def send() -> None:
        nonlocal passed
        passed += 1
        if passed == time_number:
            os.kill(os.getpid(), number)

    return send
