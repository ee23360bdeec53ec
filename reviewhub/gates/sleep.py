"""An agent has nothing to do before a time: a row says when to wake its branch, and nobody holds it meanwhile."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import transaction
from reviewhub_agents.wire.fields import time_text

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.gates.errors import BranchPaused
from reviewhub.gates.kinds import BranchSleeping
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.queries import written_by
from reviewhub.runs.derive import derive
from reviewhub.runs.fence import check
from reviewhub.runs.states import BRANCH_EDGES, BranchState
from reviewhub.toolcalls.locks import lock_branch


@transaction.atomic
def sleep(
    *,
    branch_id: uuid.UUID,
    until: datetime,
    epoch: int | None,
    kind: str,
    actor: Actor,
    waking: Resumption | None = None,
) -> bool:
    """Gives a branch up until a time, by the database's clock; a new epoch begins.

    Args:
        epoch: the holder's; None for an agent that claimed nothing.
        kind: how it is woken, `hosted` or `poll`.
        waking: the one that the caller has claimed; done with this.

    Returns:
        Whether that time has come: then nothing changes.

    Raises:
        Superseded, StaleEpoch, RunEnded: this caller may not write for the branch.
        BranchPaused: it waits for people already.
        NotAnyMore, AgentStopped: the caller may not write any more.
    """
    branch = lock_branch(branch_id)
    before = written_by(branch, epoch)
    if before is not None and before.due_at == until and not before.for_children:
        return False  # It sleeps already: the answer was lost.
    check(branch, epoch)
    run = branch.run
    still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
    if branch.state == BranchState.PAUSED:
        raise BranchPaused
    acknowledge(branch=branch)
    if until <= clock.now():
        return True
    move(
        branch,
        to=BranchState.PAUSED,
        table=BRANCH_EDGES,
        epoch=branch.epoch + 1,
        lease_owner="",
        lease_until=None,
    )
    if waking is not None:
        complete(resumption=waking)
    enqueue(branch=branch, pause=None, kind=kind, due_at=until)
    record(
        "branch.sleeping",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=branch.pk,
        data=BranchSleeping(branch=branch.name, until=time_text(until)),
    )
    derive(run.pk)
    return False
