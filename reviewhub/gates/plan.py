"""An agent writes a version of its plan."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.checkpoints.emptied import or_removed
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.idempotency import claim
from reviewhub.gates.acts import plan_arguments, require_nobody, spend
from reviewhub.gates.errors import BranchPaused
from reviewhub.plans.base import base
from reviewhub.plans.content import sent, stored
from reviewhub.plans.kinds import PlanChanged
from reviewhub.plans.models import PlanVersion
from reviewhub.plans.queries import of_id, standing
from reviewhub.plans.rules import because, carried
from reviewhub.plans.write import Why, write
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check
from reviewhub.runs.models import Run
from reviewhub.runs.queries import branch_of
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.in_plan import written
from reviewhub.toolcalls.locks import lock_branch
from reviewhub.tools.acts import PLAN


def plan(*, run: Run, body: wire.PlanBody, key: str, actor: Actor) -> PlanVersion:
    """Writes what the agent intends as the newest version of its branch.

    Args:
        key: the idempotency key: a repeat finds the version that it wrote, also one from another epoch or on another
            base, which is what a process that was started again would send.

    Raises:
        StalePlan: the version that this one was made from is not in force any more.
        Superseded, StaleEpoch, RunEnded, BranchPaused: the branch is not where the agent thinks.
        ApprovalNeeded: policy asks for people first, with the `tool` and `arguments_text` to pause with.
        NotAllowed, DigestMismatch: `call` is not the consumed approval of this very version.
        Invalid: the plan, or why it changed, is wrong.
        IdempotencyConflict: the key was used for another plan.
    """
    content = sent(body.steps, body.assumptions)
    asked = {name: value for name, value in body.to_tree().items() if name not in ("base", "epoch", "call")}
    branch_id = branch_of(run, body.branch).pk
    with transaction.atomic(durable=True):
        kept = claim(scope=f"plan:{run.pk}", key=key, body_digest=canonical.body_digest(asked))
        if kept.answer is not None:
            with or_removed(run.pk):
                return of_id(uuid.UUID(kept.answer))
        branch = lock_branch(branch_id)
        check(branch, body.epoch)
        still_may(actor, Action.RUN_WRITE, Target(workspace_id=run.workspace_id, agent_id=run.agent_id))
        if branch.state == BranchState.PAUSED:
            raise BranchPaused("This branch waits at a pause; its plan stays as people see it.")
        acknowledge(branch=branch)
        before = base(branch=branch, number=body.base)
        why = _why(body.why, before)
        arguments = plan_arguments(branch=branch, body=body, before=before)
        if body.call is None:
            require_nobody(branch=branch, name=PLAN, arguments=arguments)
        row = write(
            branch=branch,
            before=before,
            content=content,
            statuses=carried(
                [step.id for step in content.steps], given=content.given, standing=statuses(before)
            ),
            why=why,
            actor=actor,
        )
        record(
            "plan.changed",
            workspace_id=run.workspace_id,
            actor=actor,
            run_id=run.pk,
            agent_id=run.agent_id,
            subject_id=row.pk,
            data=PlanChanged(
                branch=branch.name,
                version=row.number,
                base=row.base,
                steps=len(content.steps),
                because=because(why.kind, failures=why.failures, assumption=why.assumption, text=why.text),
            ),
        )
        if body.call is not None:
            spend(
                branch=branch,
                call_id=body.call,
                name=PLAN,
                # The number it got: another branch of the run may have written one meanwhile.
                fits=lambda said: said == arguments | written(row),
                result=written(row),
                actor=actor,
            )
        kept.keep(status=201, answer=str(row.pk))
    return row


def statuses(version: PlanVersion | None) -> Mapping[str, str]:
    """How far the steps of a version are, as plain statuses; empty without one."""
    return {} if version is None else {step: one.status for step, one in standing(version).items()}


def _why(said: wire.PlanWhy | None, before: PlanVersion | None) -> Why:
    # A first plan needs no reason; an engine that always says "agent" has given none with it.
    if before is None and (said is None or (said.kind is wire.PlanWhyKind.AGENT and not said.text)):
        return Why(kind=wire.PlanWhyKind.FIRST.value)
    if said is None:
        number = before.number if before else 0
        raise Invalid.at(
            "/why", f"is needed: version {number} is in force, and this one changes it", "missing"
        )
    if said.assumption is not None:
        known = stored(before).assumptions if before else {}
        if said.assumption not in known:
            raise Invalid.at(
                "/why/assumption", "is no assumption of the version that this one is made from", "not_found"
            )
    return Why(kind=said.kind.value, failures=said.failures, assumption=said.assumption or "", text=said.text)
