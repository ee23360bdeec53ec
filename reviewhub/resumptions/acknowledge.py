"""An agent that polls has come back."""

from __future__ import annotations

from reviewhub.core.clock import now
from reviewhub.core.rows import one_or_none
from reviewhub.core.transitions import move
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState


def acknowledge(*, branch: Branch) -> None:
    """Ends the open `poll` waking of `branch`: the agent writes for it, so it has woken (resuming → running).

    To be called by every write of an agent, in its transaction, with the branch locked. Without an open
    waking of that kind nothing happens.
    """
    if branch.state != BranchState.RESUMING:
        return
    row = one_or_none(Resumption.objects.filter(branch=branch, kind="poll", state=ResumptionState.QUEUED))
    if row is None:
        return
    move(row, to=ResumptionState.DONE, table=RESUMPTION_EDGES, ended_at=now())
    move(branch, to=BranchState.RUNNING, table=BRANCH_EDGES)
