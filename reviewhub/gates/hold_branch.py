"""An agent takes a branch's lease; that it does so says that it has woken."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.core.actors import Actor
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check_open
from reviewhub.runs.lease import claim
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.locks import lock_branch


@transaction.atomic
def hold_branch(*, branch_id: uuid.UUID, owner: str, seconds: int, actor: Actor) -> Branch:
    """Claims an open branch for `seconds`.

    Raises:
        Superseded, RunEnded: the branch takes no writes.
        BranchHeld: somebody else's lease is still good.
    """
    branch = lock_branch(branch_id)
    check_open(branch)
    target = Target(workspace_id=branch.workspace_id, agent_id=branch.run.agent_id)
    still_may(actor, Action.RUN_WRITE, target)
    acknowledge(branch=branch)
    return claim(branch_id=branch_id, owner=owner, seconds=seconds)
