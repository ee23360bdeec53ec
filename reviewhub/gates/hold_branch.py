"""An agent takes a branch's lease; that it does so says that it has woken."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.core import idempotency
from reviewhub.core.actors import Actor
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check, check_not_halted, check_open
from reviewhub.runs.lease import claim
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.locks import lock_branch


@transaction.atomic
def hold_branch(
    *, branch_id: uuid.UUID, body: wire.ClaimBody, owner: str, seconds: int, key: str, actor: Actor
) -> Branch:
    """Claims an open branch for `seconds`.

    Args:
        body: as it was sent; a repeat is known by it.
        owner: who takes it, in words for people.
        key: the idempotency key. Who lost the answer asks with the same one and gets the same epoch, as long as
            that lasts; nothing begins anew.

    Raises:
        Superseded, RunEnded: the branch takes no writes.
        Halted: nothing starts for it until a person resumes it.
        BranchHeld: somebody else's lease is still good.
        StaleEpoch: what this key took is over.
        IdempotencyConflict: the key was used with another body.
    """
    digest = canonical.body_digest(body.to_tree())
    kept = idempotency.claim(scope=f"claim:{branch_id}", key=key, body_digest=digest)
    branch = lock_branch(branch_id)
    target = Target(workspace_id=branch.workspace_id, agent_id=branch.run.agent_id)
    if kept.answer is not None:
        check(branch, int(kept.answer))
        still_may(actor, Action.RUN_WRITE, target)
        return branch
    check_open(branch)
    check_not_halted(branch)
    still_may(actor, Action.RUN_WRITE, target)
    acknowledge(branch=branch)
    held = claim(branch_id=branch_id, owner=owner, seconds=seconds)
    kept.keep(status=200, answer=str(held.epoch))
    return held
