"""Can the agent's code of today go on from the state at which a branch waits? Asked before people decide."""

from __future__ import annotations

from reviewhub_agents.runtime import GraphError
from reviewhub_agents.runtime.errors import StateError
from reviewhub_agents.runtime.store import Declaration, WrittenAs

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint, load
from reviewhub.checkpoints.models import StateSchema
from reviewhub.checkpoints.queries import head_of
from reviewhub.core.errors import Invalid
from reviewhub.core.schemas.validate import fingerprint
from reviewhub.hosting.graphs import graph_of
from reviewhub.runs.models import Branch

MOST_BYTES = 256_000
"""Of a larger state only the version is looked at: a page must not wait for it."""


def unreadable(branch: Branch, *, agent: Agent) -> str:
    """Why a worker could not go on from the head of this branch, in words; empty when it can, or nobody here can tell.

    For a hosted agent that is what a worker does first when it is woken: find the graph, look at the version under
    which the state was saved, bring it to the code's own, validate, and say under which version it saves itself.
    Agents that poll load their states elsewhere.
    """
    if agent.runner != Agent.Runner.HOSTED:
        return ""
    try:
        states = graph_of(agent.graph).named(branch.run.graph).states
        head = head_of(branch)
        if head is not None:
            schema = head.state_schema
            written_as = WrittenAs(name=schema.name, version=schema.version) if schema else None
            states.check(written_as)
            if head.raw_length <= MOST_BYTES:
                states.load(load(head), written_as)
    except (StateError, GraphError, Invalid) as error:
        return str(error)
    except (CorruptCheckpoint, CheckpointRemoved, BlobsAway):
        # Each is told elsewhere on the page, and is about what is stored, not about the code.
        return ""
    return _not_as_registered(agent, states.declaration())


def _not_as_registered(agent: Agent, declaration: Declaration | None) -> str:
    if declaration is None:
        return ""
    saves_as = declaration.written_as
    known = StateSchema.objects.filter(agent=agent, name=saves_as.name, version=saves_as.version)
    registered = known.values_list("fingerprint", flat=True).first()
    if registered is None or registered == fingerprint(declaration.schema):
        return ""
    return (
        f"version {saves_as.version} of the state {saves_as.name!r} is registered with another schema than that of"
        " the code: the model was changed and its version was not raised"
    )
