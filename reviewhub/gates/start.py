"""A stopped agent may work again."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.gates.kinds import AgentStarted


@transaction.atomic
def start(*, agent_id: uuid.UUID, actor: Actor) -> None:
    """Takes the stop mark away; runs that were cancelled stay cancelled."""
    workspace_id = Agent.objects.values_list("workspace_id", flat=True).get(pk=agent_id)
    still_may(actor, Action.AGENTS_STOP, Target(workspace_id=workspace_id, agent_id=agent_id))
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent_id)
    if agent.stopped_at is None:
        return
    Agent.objects.filter(pk=agent_id).update(stopped_at=None)
    record(
        "agent.started",
        workspace_id=agent.workspace_id,
        actor=actor,
        agent_id=agent.pk,
        subject_id=agent.pk,
        data=AgentStarted(agent=agent.name),
    )
