"""A graph of this installation becomes an agent of a workspace."""

from __future__ import annotations

from django.db import transaction
from reviewhub_agents import wire

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.core.actors import Actor
from reviewhub.hosting.graphs import graph_of
from reviewhub.tools.models import Tool
from reviewhub.tools.register import register
from reviewhub.tools.set_sentence import set_sentence


@transaction.atomic
def adopt(*, team: Team, graph: str, name: str, owner: Member | None, actor: Actor) -> Agent:
    """Makes the hosted agent called `name`, or finds it, and registers what its graph's tools are today.

    Sentences that the graph brings along are taken for tools that have none; admins may change them.

    Args:
        graph: a name from the settings' HOSTED_GRAPHS.

    Raises:
        Invalid: there is no such graph.
    """
    found = graph_of(graph)
    agent, _ = Agent.objects.get_or_create(
        workspace_id=team.workspace_id,
        name=name,
        defaults={
            "team": team,
            "owner": owner,
            "description": found.description,
            "runner": Agent.Runner.HOSTED,
            "graph": graph,
        },
    )
    for tool in found.tools.values():
        body = wire.ToolRegister.from_tree(tool.describe())
        row: Tool = register(agent=agent, name=tool.name, body=body, actor=actor)
        if tool.sentence and not row.sentence:
            set_sentence(tool=row, sentence=tool.sentence, actor=actor)
    return agent
