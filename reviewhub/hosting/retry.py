"""A person lets a branch that was set aside try again."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.text import check_text
from reviewhub.core.transitions import move
from reviewhub.hosting.kinds import RunRetried
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.reviews.targets import run_target
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import BRANCH_EDGES, BranchState


@transaction.atomic
def retry(*, branch_id: uuid.UUID, reason: str, actor: Actor) -> Branch:
    """Wakes a quarantined branch at its last checkpoint; its failures are counted from none again.

    Raises:
        NotFound: there is no such branch.
        AgentStopped: its agent is stopped.
        NotAnyMore: who retries may not do so any more.
        IllegalTransition: it is not quarantined.
    """
    check_text(reason, path="/reason")
    branch = locked_branch(branch_id)
    still_may(actor, Action.RUN_RESUME, run_target(branch.run))
    move(branch, to=BranchState.RUNNING, table=BRANCH_EDGES, ended_at=None)
    Run.objects.filter(pk=branch.run_id).update(error="")
    record(
        "run.retried",
        workspace_id=branch.workspace_id,
        actor=actor,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        subject_id=branch.pk,
        data=RunRetried(branch=branch.name, reason=reason),
    )
    derive(branch.run_id, actor=actor)
    if branch.run.agent.runner == Agent.Runner.HOSTED:
        enqueue(branch=branch, pause=None, kind="hosted")
    return branch
