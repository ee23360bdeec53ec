"""A branch that fails whatever is tried is set aside with its error, so that others go on."""

from __future__ import annotations

from django.db import transaction

from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.give_up import give_up
from reviewhub.runs.fence import check
from reviewhub.runs.quarantine import quarantine
from reviewhub.runs.queries import locked_branch


@transaction.atomic
def stop_trying(*, claimed: Claimed, place: str, error: str, failures: int) -> None:
    """Ends the waking as failed and the branch as quarantined. Its calls and grants stay as they are for `retry`.

    Args:
        place: how far the branch had come.
        failures: how often it failed there, with this one.

    Raises:
        StaleEpoch, RunEnded, Superseded, StaleState: branch or waking are not this holder's any more.
    """
    branch = locked_branch(claimed.branch.pk)
    check(branch, claimed.branch.epoch)
    give_up(resumption=claimed.resumption, place=place, error=error)
    quarantine(branch=branch, error=error, attempts=failures)
