"""Days of the figures: all of them are days of UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

ONE = timedelta(days=1)
LAST = "last"
"""The calendar month before this one, as an address has it in `month`."""


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


def month_before(day: date) -> tuple[date, date]:
    """The first and the last day of the calendar month before the one of `day`."""
    last = day.replace(day=1) - ONE
    return last.replace(day=1), last
