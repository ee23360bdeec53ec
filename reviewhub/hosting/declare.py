"""A hosted agent says what its states are: the schema of its graph's model, registered as any agent registers one."""

from __future__ import annotations

import uuid
from functools import lru_cache

from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.store import Declaration

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.models import StateSchema
from reviewhub.checkpoints.register_schema import register_schema
from reviewhub.core.actors import Actor
from reviewhub.core.schemas.validate import fingerprint


def declare(*, agent: Agent, declaration: Declaration, actor: Actor) -> None:
    """Registers it the first time; after that it costs one read in each process.

    Raises:
        SchemaConflict: another schema is registered under this name and version: the model was changed and its version
            was not raised.
        Invalid: the schema is not acceptable, with the path inside it.
    """
    name, version = declaration.written_as.name, declaration.written_as.version
    try:
        known = _registered(agent.pk, name, version)
    except StateSchema.DoesNotExist:
        known = ""
    if known != _fingerprint(declaration.schema):
        _, _, body = messages.registration(declaration)
        register_schema(agent=agent, name=name, version=version, body=body, actor=actor)


@lru_cache(maxsize=512)
def _registered(agent_id: uuid.UUID, name: str, version: int) -> str:
    """The fingerprint under which it is registered: such a row never changes, so it is read once."""
    known = StateSchema.objects.filter(agent=agent_id, name=name, version=version)
    return known.values_list("fingerprint", flat=True).get()


_fingerprint = lru_cache(maxsize=128)(fingerprint)
