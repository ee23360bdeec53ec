"""A sign of life from whoever works on a branch."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.core.clock import DbNow
from reviewhub.core.errors import NotFound
from reviewhub.runs.lease import renew
from reviewhub.runs.models import Branch


@transaction.atomic
def heartbeat(*, branch_id: uuid.UUID, epoch: int | None, seconds: int) -> Branch:
    """Notes that the agent lives and, for a claimer, prolongs its lease.

    Taken for branches in every state: the answer is how an agent learns that its branch was superseded or
    cancelled.

    Args:
        epoch: the claimer's; None for an agent that polls.
        seconds: how long the lease lasts from now on.

    Raises:
        NotFound: there is no such branch.
        fence.StaleEpoch: somebody else holds the branch by now.
    """
    if epoch is not None:
        renew(branch_id=branch_id, epoch=epoch, seconds=seconds)
    else:
        Branch.objects.filter(pk=branch_id).update(heartbeat_at=DbNow())
    branch = Branch.objects.filter(pk=branch_id).first()
    if branch is None:
        raise NotFound()
    return branch
