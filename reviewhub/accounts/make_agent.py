"""A new agent."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import AgentMade
from reviewhub.accounts.make_team import NameTaken
from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text

MAX_DESCRIPTION = 4000


def make_agent(
    *,
    team: Team,
    name: str,
    actor: Actor,
    description: str = "",
    owner: Member | None = None,
    graph: str = "",
) -> Agent:
    """An agent that `team` looks after, without a key yet.

    Args:
        owner: who answers for it, a member of the same workspace.
        graph: import path of the graph that the workers run; "" for a program that runs elsewhere and polls.

    Raises:
        Invalid: name or description cannot be taken, or the owner is of another workspace.
        NameTaken: another agent has the name, be it in other letter case.
    """
    clean = clean_name(name)
    check_text(description, path="/description")
    if len(description) > MAX_DESCRIPTION:
        raise Invalid.at("/description", f"At most {MAX_DESCRIPTION} characters.")
    if owner is not None and owner.workspace_id != team.workspace_id:
        raise Invalid.at("/owner", "There is no such member here.")
    try:
        with transaction.atomic():
            still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=team.workspace_id))
            agent = Agent.objects.create(
                workspace_id=team.workspace_id,
                team=team,
                owner=owner,
                name=clean,
                description=description.strip(),
                runner=Agent.Runner.HOSTED if graph else Agent.Runner.POLL,
                graph=graph,
            )
            record(
                "agent.made",
                workspace_id=team.workspace_id,
                actor=actor,
                agent_id=agent.pk,
                subject_id=agent.pk,
                data=AgentMade(name=clean, team=team.name),
            )
    except IntegrityError as error:
        raise NameTaken() from error
    return agent
