"""An agent starts a run."""

from __future__ import annotations

import uuid

from django.db import IntegrityError, transaction
from django.db.models import Q
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import AgentKey
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.core.idempotency import Claim, claim
from reviewhub.core.rows import one_or_none
from reviewhub.runs.kinds import RunStarted
from reviewhub.runs.models import Branch, RetentionRule, Run
from reviewhub.runs.note import note_run
from reviewhub.runs.queries import by_external_id, runs_of

MAIN = "main"


class OtherEnvironment(Conflict):
    """A run of this external id exists in another environment than this key's."""

    code = "other_environment"


@transaction.atomic
def start(
    *, key: AgentKey, body: wire.RunStart, actor: Actor, once: tuple[str, str] | None = None
) -> tuple[Run, bool]:
    """Starts a run with its branch "main", or finds the one that this agent started with the same external id.

    Args:
        key: gives agent, workspace and environment; an agent cannot choose them.
        once: the caller's idempotency key and the digest of the body: a repeat finds the run that it started.

    Returns:
        The run, and whether it was made just now.

    Raises:
        Invalid: the parent is no run of this agent in the key's environment; no rule is about this retention class.
        NotAnyMore, AgentStopped: the key was revoked, or the agent stopped, since the request came in.
        OtherEnvironment: the external id belongs to a run of another environment.
        IdempotencyConflict: the idempotency key was used with another body.
    """
    still_may(actor, Action.RUN_WRITE, Target(workspace_id=key.workspace_id, agent_id=key.agent_id))
    external_id = body.external_id or ""
    if external_id and (found := _find(key, external_id)) is not None:
        return found, False
    kept = claim(scope=f"run:{key.agent_id}", key=once[0], body_digest=once[1]) if once else None
    if kept is not None and kept.answer is not None:
        return Run.objects.get(pk=uuid.UUID(kept.answer)), False
    parent = _parent(key, body.parent)
    _check_class(key, body.retention_class)
    run = Run(
        workspace=key.workspace,
        agent=key.agent,
        agent_owned_by_id=key.agent.owner_id,
        key=key,
        environment=key.environment,
        external_id=external_id,
        parent=parent,
        title=body.title,
        on_behalf_of=body.on_behalf_of,
        retention_class=body.retention_class,
        labels=canonical.dumps(body.labels),
        input=canonical.dumps(body.input),
    )
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        # Two starts at once: the unique index let the other one through, and it has committed by now.
        found = _find(key, external_id)
        if found is None:
            raise
        _keep(kept, found)
        return found, False
    _keep(kept, run)
    Branch.objects.create(workspace_id=run.workspace_id, run=run, name=MAIN)
    note_run(run)
    record(
        "run.started",
        workspace_id=run.workspace_id,
        actor=actor,
        data=RunStarted(
            title=str(run),
            external_id=external_id,
            environment=run.environment,
            on_behalf_of=run.on_behalf_of,
            parent=str(parent.id) if parent else None,
        ),
        run_id=run.id,
        agent_id=run.agent_id,
        subject_id=run.id,
    )
    return run, True


def _keep(kept: Claim | None, run: Run) -> None:
    if kept is not None:
        kept.keep(status=201, answer=str(run.pk))


def _find(key: AgentKey, external_id: str) -> Run | None:
    run = by_external_id(key.agent_id, external_id).first()
    if run is not None and run.environment != key.environment:
        raise OtherEnvironment(
            f"The external id {external_id!r} belongs to a run in {run.environment}; this key is for {key.environment}."
        )
    return run


def _check_class(key: AgentKey, name: str) -> None:
    """A class that an admin has made a rule for, for all agents or for this one."""
    rules = RetentionRule.objects.filter(workspace_id=key.workspace_id, run_class=name)
    if name and not rules.filter(Q(agent=None) | Q(agent_id=key.agent_id)).exists():
        raise Invalid.at("/retention_class", f"no retention rule is about the class {name!r}", "not_found")


def _parent(key: AgentKey, parent: uuid.UUID | None) -> Run | None:
    if parent is None:
        return None
    found = one_or_none(runs_of(key).filter(id=parent))
    if found is None:
        raise Invalid.at(
            "/parent", "there is no such run of this agent in this key's environment", code="not_found"
        )
    return found
