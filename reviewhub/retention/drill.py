"""Restores a sample of runs up to their next gate, as if they went on: what could not go on is an alarm."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from reviewhub.accounts.models import Agent, Member, Role
from reviewhub.audit.record import record
from reviewhub.checkpoints import recall
from reviewhub.core.actors import SYSTEM
from reviewhub.deliveries.queue_email import queue_email
from reviewhub.retention.consistency import check_branch
from reviewhub.retention.kinds import RunDrillFailed
from reviewhub.retention.rehearse import rehearse
from reviewhub.runs.models import Branch
from reviewhub.runs.states import OPEN_BRANCH

log = logging.getLogger(__name__)
MOST_WORDS = 1000


@dataclass(frozen=True, kw_only=True)
class Drilled:
    """How far a branch got; `problem` is empty when it could go on."""

    branch: Branch
    reached: str = ""
    problem: str = ""


def drill(*, sample: int, workspace_id: uuid.UUID | None = None) -> list[Drilled]:
    """Tries open branches, picked at random, and tells the admins of those that could not go on.

    Every head is read anew and compared with its hash, its schema and what waits at it. That of a hosted agent is
    loaded by the agent's code, and its step runs on what is kept up to the first thing that would be new; no tool runs,
    no model is asked, and nothing of the run is written.

    Args:
        sample: branches to try, at most.
        workspace_id: only of this one.
    """
    found = Branch.objects.filter(state__in=OPEN_BRANCH).select_related("run__agent", "run__workspace")
    if workspace_id is not None:
        found = found.filter(workspace_id=workspace_id)
    recall.forget_all()
    tried = [_try(branch) for branch in found.order_by("?")[:sample]]
    for one in tried:
        if one.problem:
            _alarm(one)
    return tried


def _try(branch: Branch) -> Drilled:
    try:
        check_branch(branch)
        if branch.run.agent.runner == Agent.Runner.HOSTED:
            return Drilled(branch=branch, reached=rehearse(branch))
    except Exception as error:
        log.warning("branch %s failed its drill", branch.pk, exc_info=True)
        return Drilled(branch=branch, problem=f"{type(error).__name__}: {error}"[:MOST_WORDS])
    return Drilled(branch=branch, reached="its agent can go on")


@transaction.atomic
def _alarm(one: Drilled) -> None:
    run = one.branch.run
    record(
        "run.drill_failed",
        workspace_id=run.workspace_id,
        actor=SYSTEM,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=one.branch.pk,
        data=RunDrillFailed(
            title=str(run),
            branch=one.branch.name,
            checkpoint=str(one.branch.head or ""),
            problem=one.problem,
        ),
    )
    admins = Member.objects.filter(
        workspace_id=run.workspace_id, role=Role.ADMIN, is_active=True, person__is_active=True
    )
    address = f"{settings.PUBLIC_URL}/{run.workspace.slug}/runs/{run.pk}"
    queue_email(
        workspace=run.workspace,
        to=list(admins.values_list("person__email", flat=True)),
        subject="A run could not be resumed in a drill",
        body=f"Its branch {one.branch.name} would not go on. The record and the run page say why:\n\n{address}\n",
    )
