"""Keeps the figures of days up to date: each day is counted from its rows until it is over and nothing can change it.

What is counted stays as it is (final requests, votes, ended shifts), so a day that was counted after its end is right
for ever. Counting a day twice, or by two workers at once, does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from django.db import models, transaction
from django.db.models import Min

from reviewhub.core.clock import now
from reviewhub.core.sweeps import each, until
from reviewhub.hosting.models import Shift
from reviewhub.insights.count_answers import count_answers
from reviewhub.insights.count_hours import count_hours
from reviewhub.insights.count_votes import count_votes
from reviewhub.insights.count_work import count_work, has_open_shift
from reviewhub.insights.days import ONE, day_of, days, start_of
from reviewhub.insights.models import Answered, EditedPath, Hour, RolledDay, Voted, Worked
from reviewhub.reviews.models import ReviewRequest

SECONDS = 30.0
"""So long one call works; the next goes on, the oldest day first."""
LATE = timedelta(hours=1)
"""So long after a day's end a transaction of it may still commit."""
OPEN_SHIFT = timedelta(days=7)
"""So long the figures of a day wait for a shift that nobody ended."""
BATCH = 500


def roll_up(*, seconds: float = SECONDS) -> int:
    """Counts the days that are due; how many there were. Stops after so many seconds."""
    return each(_roll_due, until(due_days(now()), seconds=seconds))


def _roll_due(day: date) -> bool:
    """Counts a day. One that cannot be counted stays due, whatever is counted after it."""
    try:
        roll_day(day)
    except Exception:
        RolledDay.objects.bulk_create(
            [RolledDay(day=day, at=start_of(day), is_final=False)], ignore_conflicts=True
        )
        raise
    return True


def due_days(at: datetime) -> list[date]:
    """The days that are not final, the oldest first: from the first request or shift on, up to today."""
    again = RolledDay.objects.filter(is_final=False).values_list("day", flat=True)
    last = RolledDay.objects.order_by("-day").values_list("day", flat=True).first()
    first = last + ONE if last is not None else _first_day()
    more = days(first, day_of(at)) if first is not None else ()
    return sorted({*again, *more})


def roll_day(day: date) -> None:
    """Counts one day of all workspaces, and puts what is found in the place of what was there."""
    at = now()
    answered, paths = count_answers(day)
    hours, votes, work = count_hours(day), count_votes(day), count_work(day)
    is_final = at >= start_of(day) + ONE + LATE and (
        at >= start_of(day) + ONE + OPEN_SHIFT or not has_open_shift(day)
    )
    with transaction.atomic():
        if not _ours(day, at, is_final=is_final):
            return
        Hour.objects.filter(at__gte=start_of(day), at__lt=start_of(day) + ONE).delete()
        Hour.objects.bulk_create(hours, BATCH)
        _replace(Answered, day, answered)
        _replace(EditedPath, day, paths)
        _replace(Voted, day, votes)
        _replace(Worked, day, work)


def _ours(day: date, at: datetime, *, is_final: bool) -> bool:
    """Takes the day's row, unless somebody has counted the day later than `at`."""
    RolledDay.objects.bulk_create([RolledDay(day=day, at=at, is_final=is_final)], ignore_conflicts=True)
    taken = RolledDay.objects.filter(day=day, at__lte=at).update(at=at, is_final=is_final)
    return bool(taken)


def _replace(model: type[models.Model], day: date, rows: Sequence[models.Model]) -> None:
    model._default_manager.filter(day=day).delete()
    model._default_manager.bulk_create(rows, BATCH)


def _first_day() -> date | None:
    asked = ReviewRequest.objects.aggregate(at=Min("created_at"))["at"]
    worked = Shift.objects.aggregate(at=Min("began_at"))["at"]
    found = [at for at in (asked, worked) if at is not None]
    return day_of(min(found)) if found else None
