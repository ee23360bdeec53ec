"""Times in words: short, with units, the same on every surface."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86_400
SOON = 15 * MINUTE  # seconds before a deadline from which it ticks and turns amber


@dataclass(frozen=True, slots=True)
class Due:
    """A deadline as shown: words, the part of the allowed time that is left (0..1) and its tone."""

    text: str
    share: float
    tone: str


def length(seconds: float) -> str:
    """`42 s`, `9 m`, `1 h 20 m`, `3 d 4 h`; never negative."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} m"
    if whole < DAY:
        hours, rest = divmod(whole, HOUR)
        return f"{hours} h {rest // MINUTE} m" if rest >= MINUTE else f"{hours} h"
    days, rest = divmod(whole, DAY)
    return f"{days} d {rest // HOUR} h" if rest >= HOUR else f"{days} d"


def ago(at: datetime, now: datetime) -> str:
    """How long ago `at` was, in words; under a day relative, after that the date on clocks in its own zone."""
    seconds = (now - at).total_seconds()
    if seconds < 5:
        return "just now"
    if seconds < DAY:
        return f"{length(seconds)} ago"
    return f"{at.day} {at:%b %Y}"


def due(deadline: datetime | None, now: datetime, started: datetime) -> Due:
    """The deadline as words: a countdown at 15 minutes or less, `12 m late` afterwards."""
    if deadline is None:
        return Due("no deadline", 1.0, "")
    left = (deadline - now).total_seconds()
    allowed = max(1.0, (deadline - started).total_seconds())
    share = min(1.0, max(0.0, left / allowed))
    if left <= 0:
        return Due(f"{length(-left)} late", 0.0, "late")
    if left <= SOON:
        return Due(f"{int(left) // MINUTE}:{int(left) % MINUTE:02d}", share, "soon")
    return Due(length(left), share, "")
