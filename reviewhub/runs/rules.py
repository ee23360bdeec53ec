"""Which state a run has, from the states of its branches."""

from __future__ import annotations

from collections.abc import Iterable

from reviewhub.runs.states import BranchState, RunState

ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED, RunState.QUARANTINED})


def state_of(branches: Iterable[str]) -> RunState:
    """The run's state.

    A branch that waits for people makes the whole run wait; else one that works makes it run; else the newest
    branch that nothing superseded says how it ended. A run without such a branch has only just begun.

    Args:
        branches: states of all branches, the newest first.
    """
    states = [BranchState(state) for state in branches]
    if BranchState.PAUSED in states:
        return RunState.PAUSED
    if BranchState.RUNNING in states or BranchState.RESUMING in states:
        return RunState.RUNNING
    for state in states:
        if state != BranchState.SUPERSEDED:
            return RunState(state.value)
    return RunState.RUNNING
