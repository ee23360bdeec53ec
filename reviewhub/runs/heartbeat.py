"""A sign of life from whoever works on a branch."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.core.clock import DbNow
from reviewhub.runs.lease import renew
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.states import OPEN_BRANCH


@transaction.atomic
def heartbeat(*, branch_id: uuid.UUID, epoch: int | None, seconds: int) -> Branch:
    """Notes that the agent lives and, for a claimer of an open branch, prolongs its lease.

    Taken for branches in every state: the answer is how an agent learns that its branch was superseded or
    cancelled, whatever became of its lease.

    Args:
        epoch: the claimer's; None for an agent that polls.
        seconds: how long the lease lasts from now on.

    Raises:
        NotFound: there is no such branch.
        fence.StaleEpoch: somebody else holds the open branch by now, or it paused.
    """
    branch = locked_branch(branch_id)
    if epoch is not None and branch.state in OPEN_BRANCH:
        renew(branch_id=branch_id, epoch=epoch, seconds=seconds)
    else:
        Branch.objects.filter(pk=branch_id).update(heartbeat_at=DbNow())
    branch.refresh_from_db()
    return branch
