"""Days of the figures: all of them are days of UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

ONE = timedelta(days=1)


def start_of(day: date) -> datetime:
    """Its first moment."""
    return datetime.combine(day, time(), UTC)


def day_of(at: datetime) -> date:
    """The day of a moment."""
    return at.astimezone(UTC).date()


def days(first: date, last: date) -> Iterator[date]:
    """From the first to the last, both with it."""
    while first <= last:
        yield first
        first += ONE
