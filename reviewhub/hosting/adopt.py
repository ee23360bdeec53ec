"""A graph of this installation becomes an agent of a workspace."""

from __future__ import annotations

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.make_agent import make_agent
from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.hosting.graphs import graph_of
from reviewhub.tools.models import Tool
from reviewhub.tools.register import register
from reviewhub.tools.set_sentence import set_sentence


@transaction.atomic
def adopt(*, team: Team, graph: str, name: str, owner: Member | None, actor: Actor) -> Agent:
    """Makes the hosted agent called `name`, or finds it, and registers what its graph's tools are today.

    Sentences that the graph brings along are taken for tools that have none; admins may change them.

    Args:
        graph: a name from the settings' HOSTED_GRAPHS. Its tools are this installation's, whoever registers it.

    Raises:
        Invalid: there is no such graph, or the name cannot be taken.
        NameTaken: another agent has the name.
        NotAnyMore: who registers it may not do so (any more).
    """
    found = graph_of(graph)
    agent = Agent.objects.filter(
        workspace_id=team.workspace_id, name=name, graph=graph
    ).first() or make_agent(
        team=team, name=name, owner=owner, description=found.description, graph=graph, actor=actor
    )
    for tool in found.every_tool().values():
        body = wire.ToolRegister.from_tree(tool.describe())
        row: Tool = register(agent=agent, name=tool.name, body=body, actor=SYSTEM)
        if tool.sentence and not row.sentence:
            set_sentence(tool=row, sentence=tool.sentence, actor=SYSTEM)
    return agent
