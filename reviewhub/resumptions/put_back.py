"""An attempt of a waking did not work out; it is tried again later."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState
from reviewhub.runs import lease
from reviewhub.runs.models import Branch

MAX_ERROR = 20_000


@transaction.atomic
def put_back(*, resumption: Resumption, branch: Branch, error: str, seconds: float) -> None:
    """Gives branch and waking back; the waking is due again in `seconds`.

    Args:
        resumption, branch: as `claim` gave them.
        error: what went wrong; kept with those of earlier attempts.

    Raises:
        StaleEpoch, StaleState: they are not this holder's any more.
    """
    lease.release(branch_id=branch.pk, epoch=branch.epoch)
    move(
        resumption,
        to=ResumptionState.QUEUED,
        table=RESUMPTION_EDGES,
        where={"attempts": resumption.attempts},
        due_at=now() + timedelta(seconds=seconds),
        lease_owner="",
        lease_until=None,
        error=with_attempt(resumption, error),
    )


def with_attempt(resumption: Resumption, error: str) -> str:
    """The errors of all attempts, one paragraph each; the oldest go when there is too much."""
    said = f"Attempt {resumption.attempts}: {error}"
    return "\n".join(filter(None, (resumption.error, said)))[-MAX_ERROR:]
