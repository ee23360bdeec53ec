"""Finds wakings that no worker has: never heard of, or held by a worker that is gone."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet

from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.nudge import nudge
from reviewhub.resumptions.queries import claimable, claimable_just_now

BATCH = 200
JUST_NOW = timedelta(seconds=2.5)


def sweep() -> int:
    """Sends every waking that may be taken now to the workers again; how many there were.

    Sending one twice does no harm: the second worker finds it taken.
    """
    return _send(claimable())


def hand_out() -> int:
    """The same for those that could not be taken until a moment ago: they are sent before the next sweep looks at all.

    What waits for longer, since all workers are busy, is not sent again and again by this one.
    """
    return _send(claimable_just_now(JUST_NOW))


def _send(wakings: QuerySet[Resumption]) -> int:
    found = list(wakings.values_list("pk", flat=True)[:BATCH])
    for pk in found:
        nudge(pk)
    return len(found)
