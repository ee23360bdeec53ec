"""When an agent's state is saved."""

from __future__ import annotations

from enum import StrEnum


class Checkpoints(StrEnum):
    """How much is saved, and so how much a process that takes over does again.

    Whatever the mode: what was recorded (results of tools and models) is found again and not done again; the state is
    saved before a person is asked and before a `once` call is started, at the start and at the end.
    """

    UNIT = "unit"
    """After every step that finished something: a tool call with its result, a decision, a milestone. The default."""

    EVERY = "every"
    """After every step."""

    MILESTONES = "milestones"
    """Where the agent says so: `ctx.checkpoint()`, or a step that is declared a milestone."""

    ASYNC = "async"
    """After every step, written while the next one runs; at most one step behind, never ahead of a tool call."""

    EVENTS = "events"
    """After every step an event with the hash of the state; the state itself at milestones and every so many steps.
    What lies between is rebuilt by replay (`runtime.rebuild`)."""
