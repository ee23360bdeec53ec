"""Dates, times and durations: what the clock showed, the offset, and the zone by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from pydantic_core import TzInfo

from reviewhub_agents.canonical import Writable

from .scalars import Members, only, text_of
from .values import marked, refuse, safe

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?"
_OFFSET = r"[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{6})?)?"
_FIXED = re.compile(r"([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{6}))?)?$")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_CLOCK}(?:{_OFFSET})?")
_TIME = re.compile(rf"{_CLOCK}(?:{_OFFSET})?")
_DURATION = re.compile(r"(-?)P(?=[0-9T])(?:([0-9]{1,10})D)?(?:T(?=[0-9])([0-9]{1,20})(?:\.([0-9]{1,6}))?S)?")
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")


T = TypeVar("T")


class UnknownZone(Exception):
    """The reader's time zone database has no such zone."""


def write_date(value: date) -> Members:
    """Like 2026-03-29."""
    return marked("date", value=value.isoformat())


def read_date(members: Members) -> date:
    """From the extended form of ISO 8601."""
    only(members, "value")
    return _parsed(date.fromisoformat, _DATE, text_of(members))


def write_datetime(value: datetime) -> Members:
    """What the clock showed and, when it is aware, the offset; the zone's key, and the fold when it is 1."""
    return marked("datetime", value=value.isoformat(), **_zone(value.tzinfo, value.fold))


def read_datetime(members: Members) -> datetime:
    """Refuses a zone whose rules here give another offset: that would be another moment."""
    only(members, "value", "zone", "name", "fold")
    text = text_of(members)
    found = _parsed(datetime.fromisoformat, _DATETIME, text).replace(fold=_fold(members))
    if "zone" not in members:
        return found.replace(tzinfo=_fixed(members, text))
    placed = found.replace(tzinfo=_zone_info(members))
    if placed.utcoffset() != found.utcoffset():
        refuse(f"In the zone {placed.tzinfo} as it is known here, {text} has another offset.")
    return placed


def write_time(value: time) -> Members:
    """What the clock showed, with offset or zone when it has one."""
    # Some zones (UTC) have an offset without a date too; it follows from the zone and is not said twice.
    clock = value.replace(tzinfo=None) if type(value.tzinfo) is ZoneInfo else value
    return marked("time", value=clock.isoformat(), **_zone(value.tzinfo, value.fold))


def read_time(members: Members) -> time:
    """A zone without a date has no offset, or always the same one; that may have been written."""
    only(members, "value", "zone", "name", "fold")
    text = text_of(members)
    found = _parsed(time.fromisoformat, _TIME, text).replace(fold=_fold(members))
    if "zone" not in members:
        return found.replace(tzinfo=_fixed(members, text))
    placed = found.replace(tzinfo=_zone_info(members))
    if found.tzinfo is not None and placed.utcoffset() != found.utcoffset():
        refuse("A time of day in a zone has no offset of its own.")
    return placed


def write_duration(value: timedelta) -> Members:
    """Days and seconds, ISO 8601, with one sign for the whole: P1DT0.000001S, -PT90S."""
    size = abs(value)
    fraction = f".{size.microseconds:06}" if size.microseconds else ""
    rest = f"T{size.seconds}{fraction}S" if size.seconds or fraction or not size.days else ""
    days = f"{size.days}D" if size.days else ""
    return marked("duration", value=f"{'-' if value < timedelta(0) else ''}P{days}{rest}")


def read_duration(members: Members) -> timedelta:
    """From days and seconds."""
    only(members, "value")
    match = _DURATION.fullmatch(text_of(members))
    if match is None:
        refuse("Should be a duration of days and seconds, like P1DT0.5S.")
    sign, days, seconds, fraction = match.groups()
    try:
        size = timedelta(int(days or 0), int(seconds or 0), int((fraction or "").ljust(6, "0")))
    except OverflowError:
        refuse("The duration is longer than timedelta holds.")
    return -size if sign else size


def _zone(zone: tzinfo | None, fold: int) -> dict[str, Writable]:
    members: dict[str, Writable] = {"fold": 1} if fold else {}
    # pydantic's own class for a fixed offset is a fixed offset. Subclasses of the others may do anything.
    if zone is None or type(zone) is TzInfo:
        return members
    if type(zone) is timezone:
        name = zone.__getinitargs__()[1:]  # type: ignore[attr-defined]  # the name, if it was given one
        return members | ({"name": safe(name[0])} if name else {})
    if type(zone) is ZoneInfo:
        return members | {"zone": zone.key if zone.key is not None else refuse("The ZoneInfo has no key.")}
    kind = f"{type(zone).__module__}.{type(zone).__qualname__}"
    return refuse(f"A time zone of type {kind} cannot be kept; use ZoneInfo or timezone.")


def _fixed(members: Members, text: str) -> tzinfo | None:
    # Read here, since `fromisoformat` takes an offset of less than a second for none.
    match = _FIXED.search(text.partition("T")[2] or text)
    if match is None:
        return None if "name" not in members else refuse("Only a fixed offset has a name.")
    sign, hours, minutes, seconds, fraction = match.groups()
    size = timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(seconds or 0), microseconds=int(fraction or 0)
    )
    offset = -size if sign == "-" else size
    return timezone(offset, text_of(members, "name")) if "name" in members else timezone(offset)


def _zone_info(members: Members) -> ZoneInfo:
    only(members, "value", "zone", "fold")
    key = text_of(members, "zone")
    try:
        # The key is a name in the database of zones and nothing else: no path, no module.
        return ZoneInfo(key) if _ZONE.fullmatch(key) else refuse("This is not the key of a time zone.")
    except (KeyError, ValueError, OSError) as error:
        raise UnknownZone(key) from error


def _fold(members: Members) -> int:
    fold = members.get("fold", 0)
    return fold if type(fold) is int and fold in (0, 1) else refuse("The fold must be 1.")


def _parsed(read: Callable[[str], T], form: re.Pattern[str], text: str) -> T:
    try:
        return (
            read(text) if form.fullmatch(text) else refuse(f"{text!a:.60} is not in the form of this type.")
        )
    except ValueError as error:
        refuse(f"{text!a:.60} does not exist: {error}.")


READERS: Final[dict[str, Callable[[Members], Any]]] = {
    "date": read_date,
    "datetime": read_datetime,
    "time": read_time,
    "duration": read_duration,
}
WRITERS: Final[dict[type, Callable[[Any], Writable]]] = {
    date: write_date,
    datetime: write_datetime,
    time: write_time,
    timedelta: write_duration,
}
