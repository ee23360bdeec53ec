"""When a failed attempt of a hosted run is made again."""

from __future__ import annotations

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
LONGEST_WISH = 3600.0
SPREAD = 0.1


def pause_before_next(*, failures: int, draw: float, asked: float | None = None) -> float:
    """Seconds until the next attempt.

    Twice as long after each failure, drawn from the upper half of that, so that runs which failed together do not come
    back together. Who asks for a time (`Retry-After`) is never asked again sooner, within the hour that is believed.

    Args:
        failures: at this place, with the one just now; at least 1.
        draw: random, from 0 up to 1.
        asked: what the other side asks for, in seconds; nonsense (negative, not finite) is not listened to.
    """
    # The power is bounded first: 2 ** 2000 is no float.
    whole = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE)
    drawn = whole * (0.5 + draw / 2)
    if asked is None or not 0 < asked < float("inf"):
        return drawn
    return max(drawn, min(asked, LONGEST_WISH) * (1 + SPREAD * draw))
