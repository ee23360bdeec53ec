"""An attempt of a waking that did not work out is kept, with its error."""

from __future__ import annotations

from datetime import datetime

from reviewhub.core.clock import now
from reviewhub.resumptions.models import Failure, Resumption

GONE = "The worker was gone: its lease ran out."
NO_END = 10
"""Progress is no excuse for ever: so many failures elsewhere count like one here."""


def keep_failure(*, resumption: Resumption, place: str, error: str, again_at: datetime | None = None) -> None:
    """Keeps the error of the attempt under way, in the caller's transaction.

    Args:
        resumption: as claimed; its `attempts` and `lease_owner` say which attempt it was, and whose.
        place: how far the branch had come.
        again_at: when it is tried again; None for a worker that died, or at the end.
    """
    Failure.objects.create(
        resumption=resumption,
        attempt=resumption.attempts,
        place=place,
        owner=resumption.lease_owner,
        error=error,
        at=now(),
        again_at=again_at,
    )


def failures_at(*, resumption: Resumption, place: str) -> int:
    """How often this waking failed without getting further than `place`; NO_END failures anywhere count as one here."""
    places = list(Failure.objects.filter(resumption=resumption).values_list("place", flat=True))
    return max(places.count(place), len(places) // NO_END)
