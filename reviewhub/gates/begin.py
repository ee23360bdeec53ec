"""A call begins in the commit of what came before it: the pause that let it run, or the end of the call before."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

from django.db import DatabaseError, transaction
from reviewhub_agents import canonical

from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import ReviewHubError
from reviewhub.core.idempotency import check_key
from reviewhub.gates.consume import Consumed, consumed
from reviewhub.toolcalls.locks import lock_call


@dataclass(frozen=True, kw_only=True)
class Begin:
    """What a consume is asked with. Without `call_id` and `digest` it is the first call of the pause, as it is."""

    key: str
    facts: canonical.Tree
    epoch: int | None
    call_id: uuid.UUID | None = None
    digest: str | None = None


def begin_within(*, call_id: uuid.UUID, digest: str, begin: Begin, actor: Actor) -> Consumed | None:
    """Takes the right to run a call in the caller's transaction, which holds its branch.

    None, and nothing has changed, when it may not run now: a consume of its own says why, and does what follows from
    that. So nothing that the caller writes is ever lost for the sake of what comes after it.
    """
    key_hash = hashlib.sha256(check_key(begin.key).encode()).hexdigest()
    try:
        with transaction.atomic():
            found = consumed(lock_call(call_id), digest, key_hash, begin.facts, begin.epoch, actor)
            if isinstance(found, ReviewHubError):
                raise found
            faults.point("consume.before_commit")
            return found
    except (ReviewHubError, DatabaseError):
        return None
