"""An agent says how far the steps of its plan are."""

from __future__ import annotations

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.core.actors import Actor
from reviewhub.gates.errors import BranchPaused
from reviewhub.plans.base import base
from reviewhub.plans.mark import mark
from reviewhub.plans.models import PlanVersion
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check
from reviewhub.runs.models import Run
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch


def mark_steps(*, run: Run, version: PlanVersion, body: wire.MarksBody, actor: Actor) -> int:
    """Marks steps of the version in force. No audit event: the marks are their own record.

    Returns:
        How many marks were news.

    Raises:
        StalePlan: another version of the branch is in force, perhaps one that a person restored.
        Superseded, StaleEpoch, RunEnded, BranchPaused: the branch is not where the agent thinks.
        Invalid, IllegalTransition: no such step, or it cannot come there.
    """
    with transaction.atomic(durable=True):
        branch = lock_branch(version.branch_id)
        check(branch, body.epoch)
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
        if branch.state == BranchState.PAUSED:
            raise BranchPaused("This branch waits at a pause; its plan stays as people see it.")
        acknowledge(branch=branch)
        base(branch=branch, number=version.number)
        return mark(version=version, marks=body.marks)
