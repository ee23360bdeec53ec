"""A branch whose halt was lifted goes on."""

from __future__ import annotations

from reviewhub.accounts.models import Agent
from reviewhub.core.transitions import move
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge_after_commit
from reviewhub.runs.models import Branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState


def wake(*, branch: Branch, agent: Agent) -> None:
    """Tells a worker, or the agent that polls, in the caller's transaction, which holds the branch's lock."""
    if branch.state == BranchState.PAUSED:
        return  # It waits for people; their decision wakes it.
    waking = Resumption.objects.open().filter(branch=branch).first()
    if waking is not None:
        if waking.kind == "hosted":
            nudge_after_commit(waking)
        return
    if agent.runner == Agent.Runner.HOSTED:
        enqueue(branch=branch, pause=None, kind="hosted")
    else:
        # So that its agent, which polls, is told; its next write says that it has woken.
        move(branch, to=BranchState.PAUSED, table=BRANCH_EDGES)
        enqueue(branch=branch, pause=None, kind="poll")
