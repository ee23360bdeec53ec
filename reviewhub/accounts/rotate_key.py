"""A key is replaced by a new one."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import KeyRotated
from reviewhub.accounts.make_key import MadeKey, write_key
from reviewhub.accounts.models import AgentKey, Member
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.revoke_key import end_key
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor


@transaction.atomic
def rotate_key(*, key: AgentKey, actor: Actor, made_by: Member | None = None) -> MadeKey:
    """A new key with the name and environment of `key`, which is revoked in the same moment.

    To let both work for a while, make a second key and revoke the first one later.

    Raises:
        StaleState: the key was revoked before.
    """
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=key.workspace_id))
    end_key(key)
    agent = key.agent
    made = write_key(agent=agent, name=key.name, environment=key.environment, made_by=made_by)
    record(
        "key.rotated",
        workspace_id=key.workspace_id,
        actor=actor,
        agent_id=agent.pk,
        subject_id=made.row.pk,
        data=KeyRotated(
            agent=agent.name, prefix=made.row.prefix, old_prefix=key.prefix, environment=key.environment
        ),
    )
    return made
