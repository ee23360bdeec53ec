"""A person goes back to an older version of a plan; the execution stays where it is."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.checkpoints.emptied import or_removed
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.idempotency import claim
from reviewhub.core.text import check_text
from reviewhub.gates.plan import statuses
from reviewhub.plans.base import base
from reviewhub.plans.content import stored
from reviewhub.plans.kinds import PlanRestored
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import of_id
from reviewhub.plans.rules import carried
from reviewhub.plans.write import Why, write
from reviewhub.reviews.targets import run_target
from reviewhub.runs.fence import check_open
from reviewhub.runs.models import Run
from reviewhub.runs.queries import branch_of
from reviewhub.toolcalls.locks import lock_branch


def restore_plan(
    *, run: Run, version: PlanVersion, body: wire.RestorePlanBody, key: str, actor: Actor
) -> PlanVersion:
    """Writes a version that says what `version` says. Checkpoints, lease, calls and requests are not touched.

    What was done stays done: a step keeps the status that it has in the version in force, and one that is not there
    the last one it had in `version`. The agent learns of it by the next thing it writes about its plan (`stale_plan`).

    Args:
        version: any version of the run, also one of another branch.
        key: the idempotency key; a repeat finds the version that it wrote.

    Raises:
        StalePlan: another version is in force than the person saw.
        Invalid: `version` is in force, or the reason cannot be kept.
        Superseded, RunEnded: the branch is not open.
        NotAnyMore: the person may not do this any more.
    """
    check_text(body.reason, path="/reason")
    scope = f"plan-restore:{version.pk}"
    branch_id = branch_of(run, body.branch).pk
    with transaction.atomic(durable=True):
        kept = claim(scope=scope, key=key, body_digest=canonical.body_digest(body.to_tree()))
        if kept.answer is not None:
            with or_removed(run.pk):
                return of_id(uuid.UUID(kept.answer))
        branch = lock_branch(branch_id)
        check_open(branch)
        still_may(actor, Action.PLAN_RESTORE, run_target(run))
        before = base(branch=branch, number=body.base)
        if before == version:
            raise Invalid.at("/path/version", f"Version {version.number} is in force already.")
        content = stored(version)
        row = write(
            branch=branch,
            before=before,
            content=content,
            statuses=carried(
                [step.id for step in content.steps],
                given={},
                standing={**statuses(version), **_said_of_all(before)},
            ),
            why=Why(kind=wire.PlanWhyKind.RESTORED.value, text=body.reason),
            actor=actor,
            restores=version.number,
        )
        record(
            "plan.restored",
            workspace_id=run.workspace_id,
            actor=actor,
            run_id=run.pk,
            agent_id=run.agent_id,
            subject_id=row.pk,
            data=PlanRestored(
                branch=branch.name,
                version=row.number,
                base=row.base,
                restored=version.number,
                reason=body.reason,
            ),
        )
        kept.keep(status=201, answer=str(row.pk))
    return row


def _said_of_all(version: PlanVersion | None) -> dict[str, str]:
    """The status of every step of a version, the pending ones too."""
    if version is None:
        return {}
    known = statuses(version)
    return {step.id: known.get(step.id, "pending") for step in stored(version).steps}
