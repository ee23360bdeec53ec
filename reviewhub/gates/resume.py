"""A person resumes a run that was halted."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.core.transitions import move
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge_after_commit
from reviewhub.reviews.targets import run_target
from reviewhub.runs.halt import lift
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BRANCH_EDGES, OPEN_BRANCH, BranchState
from reviewhub.toolcalls.locks import lock


@transaction.atomic
def resume(*, run_id: uuid.UUID, reason: str, actor: Actor) -> bool:
    """Lifts the halts of a run's open branches and wakes those that wait for nobody; false when none was halted.

    Raises:
        AgentStopped: its agent is stopped.
        NotAnyMore: who resumes may not do so any more.
    """
    check_text(reason, path="/reason")
    run = Run.objects.select_related("agent").get(pk=run_id)
    halted = Branch.objects.filter(run=run, is_halted=True, state__in=OPEN_BRANCH).order_by("pk")
    branches = list(lock(halted))
    still_may(actor, Action.RUN_RESUME, run_target(run))
    for branch in branches:
        lift(branch=branch, reason=reason, actor=actor)
        _wake(branch, run.agent)
    return bool(branches)


def _wake(branch: Branch, agent: Agent) -> None:
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
