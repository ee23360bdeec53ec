"""A waking that failed too often."""

from __future__ import annotations

from reviewhub.core.clock import now
from reviewhub.core.transitions import move
from reviewhub.resumptions.failed import keep_failure
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.states import RESUMPTION_EDGES, ResumptionState


def give_up(*, resumption: Resumption, place: str, error: str) -> None:
    """Ends a claimed waking as failed, in the transaction in which its branch is quarantined.

    Raises:
        StaleState: it is not this holder's any more.
    """
    move(
        resumption,
        to=ResumptionState.FAILED,
        table=RESUMPTION_EDGES,
        where={"attempts": resumption.attempts},
        ended_at=now(),
        lease_until=None,
    )
    keep_failure(resumption=resumption, place=place, error=error)
