"""The holder of a waking is alive."""

from __future__ import annotations

from django.db import transaction

from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import ResumptionState
from reviewhub.runs import lease
from reviewhub.runs.models import Branch


@transaction.atomic
def renew(*, resumption: Resumption, branch: Branch, seconds: int) -> None:
    """Prolongs the leases of a claimed waking and of its branch, both until the same moment.

    Args:
        branch: in the epoch in which it was claimed.
        seconds: how long they last from now on.

    Raises:
        StaleEpoch: the branch paused, ended, or is somebody else's by now; nothing was prolonged.
    """
    until = lease.renew(branch_id=branch.pk, epoch=branch.epoch, seconds=seconds)
    Resumption.objects.filter(
        pk=resumption.pk, state=ResumptionState.CLAIMED, attempts=resumption.attempts
    ).update(lease_until=until)
