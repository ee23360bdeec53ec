"""Days of the figures: all of them are days of UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

ONE = timedelta(days=1)
LAST = "last"
THIS = "this"
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


def month_of(name: str, day: date) -> tuple[date, date]:
    """The days of a month that an address names: of the one of `day` until then, or of the whole one before."""
    return (day.replace(day=1), day) if name == THIS else month_before(day)


def month_before(day: date) -> tuple[date, date]:
    """The first and the last day of the calendar month before the one of `day`."""
    last = day.replace(day=1) - ONE
    return last.replace(day=1), last
