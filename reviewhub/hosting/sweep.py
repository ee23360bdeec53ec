"""Finds wakings that no worker has: never heard of, or held by a worker that is gone."""

from __future__ import annotations

from reviewhub.resumptions.nudge import nudge
from reviewhub.resumptions.queries import claimable

BATCH = 200


def sweep() -> int:
    """Sends every waking that may be taken now to the workers again; how many there were.

    Sending one twice does no harm: the second worker finds it taken.
    """
    found = list(claimable().values_list("pk", flat=True)[:BATCH])
    for pk in found:
        nudge(pk)
    return len(found)
