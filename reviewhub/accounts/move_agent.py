"""An agent gets another team."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import AgentMoved
from reviewhub.accounts.models import Agent, Team
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.teams import check_teams
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor


@transaction.atomic
def move_agent(*, agent: Agent, team: Team, actor: Actor, frees: Sequence[str] = ()) -> Agent:
    """Lets `team` look after the agent from now on; the same team again changes and records nothing.

    What waits already stays with those who were asked. People move agents by `policies.give_agent`, which says what
    that frees.

    Args:
        frees: of which calls policy asks less then, in words, for the record.

    Raises:
        Invalid: the team is of another workspace.
    """
    check_teams([team], workspace_id=agent.workspace_id)
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
    row = Agent.objects.select_for_update(of=("self",), no_key=True).select_related("team").get(pk=agent.pk)
    if row.team_id == team.pk:
        return row
    data = AgentMoved(name=row.name, team=team.name, old_team=row.team.name, frees=list(frees))
    row.team = team
    row.save(update_fields=["team"])
    record(
        "agent.moved",
        workspace_id=row.workspace_id,
        actor=actor,
        agent_id=row.pk,
        subject_id=row.pk,
        data=data,
    )
    return row
