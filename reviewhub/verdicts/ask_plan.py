"""A person asks an agent for another plan; the agent learns of it at the end of its step."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.idempotency import claim
from reviewhub.core.text import check_text
from reviewhub.plans.base import base
from reviewhub.runs.fence import check_open
from reviewhub.runs.models import Run
from reviewhub.runs.queries import branch_of
from reviewhub.toolcalls.locks import lock_branch
from reviewhub.verdicts.kinds import PlanAsked
from reviewhub.verdicts.models import Verdict

NAME = "Another plan"


def ask_plan(*, run: Run, body: wire.AskPlanBody, key: str, target: Target, actor: Actor) -> Verdict:
    """Writes the wish down. It stands until another version is in force.

    Args:
        key: the idempotency key; a repeat finds what it wrote.
        target: of the run, for the permission.

    Raises:
        StalePlan: another version is in force than the person saw.
        Invalid: the branch has no plan, or the reason cannot be kept.
        Superseded, RunEnded: the branch is not open.
        NotAnyMore: the person may not do this any more.
    """
    check_text(body.reason, path="/reason")
    branch_id = branch_of(run, body.branch).pk
    with transaction.atomic(durable=True):
        kept = claim(scope=f"plan-ask:{run.pk}", key=key, body_digest=canonical.body_digest(body.to_tree()))
        if kept.answer is not None:
            return Verdict.objects.get(pk=uuid.UUID(kept.answer))
        branch = lock_branch(branch_id)
        check_open(branch)
        still_may(actor, Action.PLAN_RESTORE, target)
        version = base(branch=branch, number=body.base)
        if version is None:
            raise Invalid("This branch has no plan that another one could take the place of.")
        row = Verdict.objects.create(
            workspace_id=run.workspace_id,
            run=run,
            branch=branch,
            plan=version.number,
            name=NAME,
            source=Verdict.Source.PERSON,
            judges="plan",
            status=Verdict.Status.FAILED,
            detail=body.reason,
            by_name=actor.name[:200],
            ended_at=clock.now(),
        )
        record(
            "plan.asked",
            workspace_id=run.workspace_id,
            actor=actor,
            run_id=run.pk,
            agent_id=run.agent_id,
            subject_id=row.pk,
            data=PlanAsked(branch=branch.name, version=version.number, reason=body.reason),
        )
        kept.keep(status=201, answer=str(row.pk))
    return row
