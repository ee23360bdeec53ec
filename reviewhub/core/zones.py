"""Time zones: which there are, in which one the reader is, and which moments a clock on a wall there can mean.

While something is made for one reader (a page, a live update, an e-mail) their zone is Django's current one; everywhere
else that is UTC, and so are the record, the API and what is exported.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from django.utils import timezone

UTC_NAME: Final = "UTC"
FIELD: Final = "zone"
"""The field with which a form says in which zone its times are written."""
_NO_ZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
_DAY: Final = timedelta(days=1)


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """The names of all zones, as IANA has them."""
    return frozenset(available_timezones() | {UTC_NAME}) - _NO_ZONES


@lru_cache(maxsize=64)
def zone_called(name: str) -> tzinfo:
    """The zone of this name; UTC for what is none."""
    return ZoneInfo(name) if name != UTC_NAME and name in known() else UTC


def name_of(zone: tzinfo) -> str:
    """What a zone is called."""
    return zone.key if isinstance(zone, ZoneInfo) else UTC_NAME


def current() -> tzinfo:
    """The zone of whoever something is made for now."""
    return timezone.get_current_timezone()


def of_form(given: Mapping[str, Any]) -> tzinfo:
    """The zone in which a form (or an address) says that its times are written; the reader's when it does not say."""
    name = str(given.get(FIELD, ""))
    return zone_called(name) if name in known() else current()


def here(at: datetime, zone: tzinfo | None = None) -> datetime:
    """The moment on a clock in `zone`, the reader's by default. At the ends of the calendar, where it has none there,
    in UTC."""
    try:
        return at.astimezone(zone or current())
    except (OverflowError, ValueError):
        return at.astimezone(UTC)


def meant(wall: datetime, zone: tzinfo) -> list[datetime]:
    """The moments, in UTC, at which clocks in `zone` show `wall` (without a zone): one; none in the hour that is left
    out when they go forward; two, the earlier one first, in the hour that they show twice."""
    found = set()
    for fold in (0, 1):
        try:
            at = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            shown = at.astimezone(zone).replace(tzinfo=None, fold=0)
        except (OverflowError, ValueError):
            continue
        if shown == wall.replace(fold=0):
            found.add(at)
    return sorted(found)


def after_gap(wall: datetime, zone: tzinfo) -> datetime:
    """What clocks in `zone` show when they would show `wall`, had they not gone forward over it just before."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone).replace(tzinfo=None)


def begin(day: date, zone: tzinfo) -> datetime | None:
    """The moment, in UTC, at which a day begins in `zone`: at midnight, or where clocks go forward over that when they
    have; None beyond the calendar."""
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001
    try:
        # Without a midnight this is the moment of the change: so much after the old midnight as clocks went forward.
        return next(iter(meant(midnight, zone)), midnight.replace(tzinfo=zone).astimezone(UTC))
    except (OverflowError, ValueError):
        return None


def end(day: date, zone: tzinfo) -> datetime | None:
    """The moment, in UTC, at which a day is over in `zone`; None beyond the calendar."""
    try:
        return begin(day + _DAY, zone)
    except OverflowError:
        return None


def today_began(at: datetime) -> datetime:
    """When the reader's day that `at` is in began."""
    return begin(here(at).date(), current()) or at
