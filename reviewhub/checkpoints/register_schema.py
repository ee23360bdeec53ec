"""An agent says what its states are."""

from __future__ import annotations

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.checkpoints.kinds import StateRegistered
from reviewhub.checkpoints.models import StateSchema
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid
from reviewhub.core.schemas.validate import check_schema, fingerprint
from reviewhub.tools.rules import name_fault

MAX_VERSION = 2**31 - 1
MAX_SCHEMAS = 1000
"""Schemas of one agent, of all names and versions."""


class SchemaConflict(Conflict):
    """This version of the state is registered with another schema; a changed state needs a new version."""

    code = "schema_conflict"


def register_schema(
    *, agent: Agent, name: str, version: int, body: wire.StateSchemaIn, actor: Actor
) -> StateSchema:
    """Stores the schema of an agent's states under a name and version, once. The same schema again changes nothing.

    Args:
        name: as checkpoints name it; at most 200 characters, without control characters.
        version: 1 or more; a state that changed its form has a higher one.

    Raises:
        Invalid: the name, the version or the schema (with the path inside it) is not as it should be.
        SchemaConflict: another schema is registered under this name and version; `extra` has both fingerprints.
    """
    if (fault := name_fault(name)) is not None:
        raise Invalid.at("/name", fault)
    if not 1 <= version <= MAX_VERSION:
        raise Invalid.at("/version", f"is {version}; a version is 1 to {MAX_VERSION}", "out_of_range")
    text = _checked(body)
    mark = fingerprint(text)
    with transaction.atomic():
        target = Target(workspace_id=agent.workspace_id, agent_id=agent.pk)
        still_may(actor, Action.STATES_DECLARE, target)
        row = StateSchema.objects.filter(agent=agent, name=name, version=version).first()
        if row is None:
            row = _store(agent, name, version, text, mark, actor)
    if row.fingerprint != mark:
        raise SchemaConflict(
            f"Version {version} of {name!r} is registered with another schema; give the changed one a new version.",
            registered=row.fingerprint,
            given=mark,
        )
    return row


def _checked(body: wire.StateSchemaIn) -> str:
    text = canonical.dumps(body.json_schema)
    if problems := check_schema(text):
        errors = [{**problem, "path": "/schema" + problem["path"]} for problem in problems]
        raise Invalid(f"{errors[0]['path']}: {errors[0]['message']}", errors=errors)
    return text


def _store(agent: Agent, name: str, version: int, text: str, mark: str, actor: Actor) -> StateSchema:
    """The new row with its event, or that of somebody who was first."""
    if StateSchema.objects.filter(agent=agent).count() >= MAX_SCHEMAS:
        raise Invalid.at("/version", f"the agent has {MAX_SCHEMAS} schemas, which is the limit", "too_large")
    row, made = StateSchema.objects.get_or_create(
        agent=agent,
        name=name,
        version=version,
        defaults={"workspace_id": agent.workspace_id, "schema": text, "fingerprint": mark},
    )
    if made:
        record(
            "state.registered",
            workspace_id=agent.workspace_id,
            actor=actor,
            data=StateRegistered(state=name, version=version, fingerprint=mark),
            agent_id=agent.pk,
        )
    return row
