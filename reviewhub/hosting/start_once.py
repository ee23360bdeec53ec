"""A person starts a hosted run: a repeat of the same request finds the run that it began."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent, Member
from reviewhub.core.actors import Actor
from reviewhub.core.idempotency import claim
from reviewhub.hosting.start import start
from reviewhub.runs.models import Run


@transaction.atomic(durable=True)
def start_once(
    *, agent: Agent, body: wire.HostedStart, key: str, actor: Actor, started_by: Member
) -> tuple[Run, bool]:
    """Starts a run of a hosted agent as `start` does.

    Args:
        key: the idempotency key, one for each person and agent.

    Returns:
        The run, and whether it was made just now.

    Raises:
        Invalid, AgentStopped, NotAnyMore: as `start`.
        IdempotencyConflict: the key was used with something else.
    """
    digest = canonical.body_digest(body.to_tree())
    kept = claim(scope=f"hosted-run:{agent.pk}:{started_by.pk}", key=key, body_digest=digest)
    if kept.answer is not None:
        return Run.objects.select_related("agent", "workspace").get(pk=uuid.UUID(kept.answer)), False
    run = start(
        agent=agent,
        given=body.input,
        actor=actor,
        started_by=started_by,
        title=body.title,
        environment=body.environment,
    )
    kept.keep(status=201, answer=str(run.pk))
    return run, True
