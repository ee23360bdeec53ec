"""A key ends."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import KeyRevoked
from reviewhub.accounts.models import AgentKey
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import StaleState


@transaction.atomic
def revoke_key(*, key: AgentKey, actor: Actor) -> AgentKey:
    """Ends one key for good. The agent's pauses stay open, its other keys go on.

    Raises:
        StaleState: the key was revoked before.
    """
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=key.workspace_id))
    end_key(key)
    record(
        "key.revoked",
        workspace_id=key.workspace_id,
        actor=actor,
        agent_id=key.agent_id,
        subject_id=key.pk,
        data=KeyRevoked(agent=key.agent.name, prefix=key.prefix),
    )
    return key


def end_key(key: AgentKey) -> None:
    """The row alone, for `revoke_key` and `rotate_key`; they record it. StaleState: revoked before."""
    at = clock.now()
    if AgentKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=at) != 1:
        raise StaleState("This key was revoked before.")
    key.revoked_at = at
