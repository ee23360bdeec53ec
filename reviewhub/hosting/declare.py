"""A hosted agent says what its states are: the schema of its graph's model, registered as any agent registers one."""

from __future__ import annotations

from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.store import Declaration

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.models import StateSchema
from reviewhub.checkpoints.register_schema import register_schema
from reviewhub.core.actors import Actor
from reviewhub.core.schemas.validate import fingerprint


def declare(*, agent: Agent, declaration: Declaration, actor: Actor) -> None:
    """Registers it the first time; after that it costs one read.

    Raises:
        SchemaConflict: another schema is registered under this name and version: the model was changed and its version
            was not raised.
        Invalid: the schema is not acceptable, with the path inside it.
    """
    name, version, body = messages.registration(declaration)
    known = StateSchema.objects.filter(agent=agent, name=name, version=version)
    if known.values_list("fingerprint", flat=True).first() != fingerprint(declaration.schema):
        register_schema(agent=agent, name=name, version=version, body=body, actor=actor)
