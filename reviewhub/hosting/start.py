"""A hosted run begins."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from reviewhub_agents import canonical
from reviewhub_agents.runtime.errors import StateError

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent, Member
from reviewhub.accounts.permissions import Action
from reviewhub.accounts.queries import agent_target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.hosting.graphs import graph_of
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.runs.kinds import RunStarted
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.note import note_run
from reviewhub.runs.start import MAIN


def start(
    *,
    agent: Agent,
    given: canonical.Writable,
    actor: Actor,
    started_by: Member | None = None,
    title: str = "",
    environment: str = "production",
) -> Run:
    """Starts a run of a hosted agent; a worker takes it up after commit.

    Args:
        given: the run's input, JSON from which the agent's first state is made.
        started_by: the person who started it, if one did.

    Raises:
        Invalid: the agent is not hosted, its graph is not known here, or the input does not fit its state.
        AgentStopped: it is stopped.
        NotAnyMore: who starts it may not do so any more.
    """
    if agent.runner != Agent.Runner.HOSTED:
        raise Invalid.at("/agent", "this agent is not hosted; its own program starts its runs")
    text = _fitting(agent, given)
    with transaction.atomic():
        still_may(actor, Action.RUN_START, agent_target(agent))
        run = Run.objects.create(
            workspace_id=agent.workspace_id,
            agent=agent,
            agent_owned_by_id=agent.owner_id,
            environment=environment,
            title=title,
            input=text,
            started_by=started_by,
        )
        branch = Branch.objects.create(workspace_id=run.workspace_id, run=run, name=MAIN)
        note_run(run)
        record(
            "run.started",
            workspace_id=run.workspace_id,
            actor=actor,
            run_id=run.pk,
            agent_id=agent.pk,
            subject_id=run.pk,
            data=_started(run),
        )
        enqueue(branch=branch, pause=None, kind="hosted")
    return run


def _fitting(agent: Agent, given: Any) -> str:
    try:
        text = canonical.dumps({} if given is None else given)
        graph_of(agent.graph).states.first(text)
    except (canonical.BadJson, StateError) as error:
        raise Invalid.at("/input", str(error)) from error
    return text


def _started(run: Run) -> RunStarted:
    return RunStarted(
        title=str(run), external_id="", environment=run.environment, on_behalf_of="", parent=None
    )
