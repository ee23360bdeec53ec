"""Whoever decides or starts something is read anew inside the transaction that does it.

The door (API view, page) asks before the transaction, and between the door and the write a person may be disabled or
leave the team, a key may be revoked, an agent stopped. So every verb asks once more, under a lock that lets others act
at the same time (`FOR SHARE`) and keeps out who would take the right away (`FOR NO KEY UPDATE`): either the verb
commits first and the one who disables, revokes or stops sees what it did, or it is refused.

In the order of locks this comes right after branch, pause, tool call and request, so that nobody who is disabled
meanwhile waits for them. Who takes these rights away locks nothing of those afterwards. On SQLite the IMMEDIATE
transaction holds the whole file, and reading anew is enough.
"""

from __future__ import annotations

import uuid
from typing import Final

from django.db import connection

from reviewhub.accounts.models import Agent, AgentKey, Member
from reviewhub.accounts.permissions import (
    Action,
    AgentCaller,
    AgentStopped,
    Caller,
    MemberCaller,
    Target,
    require,
)
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Forbidden, NotFound
from reviewhub.core.rows import one_or_none

# What makes an agent's work go on. Nobody may, not even the server itself, while the agent is stopped.
STARTING: Final = frozenset(
    {Action.RUN_START, Action.RUN_RESUME, Action.CHECKPOINT_FORK, Action.CHECKPOINT_REWRITE}
)

# Django has no FOR SHARE. Each is a statement of its own: what is read after it is what the lock found.
_MEMBER = "SELECT 1 FROM accounts_member WHERE id = %s FOR SHARE"
_AGENT = "SELECT 1 FROM accounts_agent WHERE id = %s FOR SHARE"
_KEY = "SELECT 1 FROM accounts_agentkey WHERE id = %s FOR SHARE"


class NotAnyMore(Forbidden):
    """You may not do this any more."""


def still_may(actor: Actor, action: Action, target: Target) -> None:
    """Returns when `actor`, as it is now, may do `action` to `target`, and will until the transaction ends.

    The system, a policy and a timeout are nobody whose rights could end.

    Raises:
        AgentStopped: the agent that acts, or that would be started, is stopped by now.
        NotAnyMore: the person or the key lost this right since the door let them in.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("who acts is locked only inside a transaction")
    if actor.kind in ("person", "agent"):
        _check(actor, action, target)
    if action in STARTING and target.agent_id is not None:
        _share(_AGENT, target.agent_id)
        if Agent.objects.filter(pk=target.agent_id, stopped_at__isnull=False).exists():
            raise AgentStopped


def _check(actor: Actor, action: Action, target: Target) -> None:
    if actor.id is None:
        raise NotAnyMore
    caller = _member(actor.id) if actor.kind == "person" else _agent(actor.id, actor.key_id)
    if caller is None:
        raise NotAnyMore
    try:
        require(caller, action, target)
    except AgentStopped:
        raise
    except (NotFound, Forbidden):
        raise NotAnyMore from None


def _member(member_id: uuid.UUID) -> Caller | None:
    _share(_MEMBER, member_id)
    found = one_or_none(Member.objects.select_related("person", "workspace").filter(pk=member_id))
    return MemberCaller(found) if found else None


def _agent(agent_id: uuid.UUID, key_id: uuid.UUID | None) -> Caller | None:
    _share(_AGENT, agent_id)
    if key_id is not None:
        _share(_KEY, key_id)
        key = one_or_none(AgentKey.objects.select_related("agent").filter(pk=key_id, agent_id=agent_id))
        return AgentCaller(key=key, agent=key.agent) if key else None
    # The server's own worker acts for a hosted agent without a key.
    agent = one_or_none(Agent.objects.filter(pk=agent_id))
    if agent is None:
        return None
    return AgentCaller(key=AgentKey(workspace_id=agent.workspace_id, agent=agent), agent=agent)


def _share(statement: str, row_id: uuid.UUID) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, [row_id])
