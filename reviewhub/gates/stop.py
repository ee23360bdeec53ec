"""An agent is stopped: everything it does ends, and its keys may only read, poll and report outcomes."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.text import check_text
from reviewhub.gates.cancel import cancel_stopped
from reviewhub.gates.kinds import AgentStopped
from reviewhub.runs.models import Run
from reviewhub.runs.states import OPEN_BRANCH


def stop(*, agent_id: uuid.UUID, reason: str, actor: Actor) -> int:
    """Stops an agent; how many of its runs were cancelled.

    The mark comes first, in a transaction of its own. What starts or asks for something holds the agent's row shared
    until it commits (`accounts.acting`), so from then on nothing new can start, and the runs that are cancelled one by
    one are all there are. Stopping again cancels what a crash left.

    Raises:
        NotAnyMore: who stops may not do so any more.
    """
    check_text(reason, path="/reason")
    with transaction.atomic():
        workspace_id = Agent.objects.values_list("workspace_id", flat=True).get(pk=agent_id)
        still_may(actor, Action.AGENTS_STOP, Target(workspace_id=workspace_id, agent_id=agent_id))
        agent = Agent.objects.select_for_update(no_key=True).get(pk=agent_id)
        if agent.stopped_at is None:
            Agent.objects.filter(pk=agent_id).update(stopped_at=now())
    runs = Run.objects.filter(agent=agent, branches__state__in=OPEN_BRANCH).distinct()
    ended = sum(
        cancel_stopped(run_id=run_id, reason=reason, actor=actor)
        for run_id in runs.values_list("pk", flat=True)
    )
    with transaction.atomic():
        record(
            "agent.stopped",
            workspace_id=agent.workspace_id,
            actor=actor,
            agent_id=agent.pk,
            subject_id=agent.pk,
            data=AgentStopped(agent=agent.name, runs=ended),
        )
    return ended
