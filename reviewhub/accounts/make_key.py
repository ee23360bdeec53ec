"""A new key of an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction

from reviewhub.accounts import keys
from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import KeyMade
from reviewhub.accounts.models import Agent, AgentKey, Member
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid

_ENVIRONMENT = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class MadeKey:
    """The key's row, and its text, which is shown once and kept nowhere."""

    row: AgentKey
    text: str = field(repr=False)


def make_key(
    *,
    agent: Agent,
    name: str,
    environment: str,
    actor: Actor,
    made_by: Member | None = None,
    frees: Sequence[str] = (),
) -> MadeKey:
    """A key of `agent`, good in one environment.

    Args:
        frees: of which calls policy asks less by it than by the agent's other keys, in words, for the record.

    Raises:
        Invalid: the name cannot be taken, or the environment is not of 1 to 40 letters a to z, digits and
            hyphens.
    """
    clean = clean_name(name)
    if not _ENVIRONMENT.fullmatch(environment):
        raise Invalid.at("/environment", "1 to 40 characters: a to z, digits and hyphens, a letter first.")
    with transaction.atomic():
        still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
        made = write_key(agent=agent, name=clean, environment=environment, made_by=made_by)
        record(
            "key.made",
            workspace_id=agent.workspace_id,
            actor=actor,
            agent_id=agent.pk,
            subject_id=made.row.pk,
            data=KeyMade(
                agent=agent.name, prefix=made.row.prefix, environment=environment, frees=list(frees)
            ),
        )
    return made


def write_key(*, agent: Agent, name: str, environment: str, made_by: Member | None) -> MadeKey:
    """The row alone, for `make_key` and `rotate_key`; they record it."""
    new = keys.make_key(environment=environment)
    row = AgentKey.objects.create(
        workspace_id=agent.workspace_id,
        agent=agent,
        name=name,
        environment=environment,
        prefix=new.prefix,
        key_hash=new.key_hash,
        made_by=made_by,
    )
    return MadeKey(row=row, text=new.text)
