"""When whoever holds a branch says again that it lives. Pure."""

from __future__ import annotations

from typing import Final

BEATS: Final = 3
"""In the time of a lease, while all goes well."""
SOON: Final = 1 / 30
"""Of the lease: about so long after a heartbeat that failed comes the next one, twice as long after each further."""
AT_MOST: Final = 1 / 6


def next_beat(*, lease: float, failed: int, draw: float) -> float:
    """Seconds until the next heartbeat.

    One that failed is tried again much sooner than the next one would come: of the three in a lease there would be a
    single one left. What failed for many at once is not tried by all of them at once again.

    Args:
        lease: in seconds.
        failed: heartbeats in a row that went wrong, up to now.
        draw: random, from 0 up to 1.
    """
    if failed == 0:
        return lease / BEATS
    share = min(SOON * 2.0 ** min(failed - 1, 10), AT_MOST)
    return lease * share * (0.5 + draw / 2)
