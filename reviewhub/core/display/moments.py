"""Moments as people read them: in the reader's zone, which is named. For programs and the record they stay in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from reviewhub.core import zones

_MINUTE = timedelta(minutes=1)


def exact(at: datetime, zone: tzinfo | None = None) -> str:
    """`29 Nov 2026, 12:31:07 UTC+1`, in the reader's zone or the given one."""
    shown = zones.here(at, zone)
    return f"{shown.day} {shown:%b} {shown.year}, {shown:%H:%M:%S} {offset(shown)}"


def minute(at: datetime) -> str:
    """`12:31 UTC+1`."""
    shown = zones.here(at)
    return f"{shown:%H:%M} {offset(shown)}"


def clock(at: datetime) -> str:
    """`12:31:07`: for lists, where the day stands above and the zone in the title."""
    return f"{zones.here(at):%H:%M:%S}"


def short(at: datetime) -> str:
    """`12:31`: as `clock`, where there is little room."""
    return f"{zones.here(at):%H:%M}"


def day(at: datetime) -> str:
    """`29 November 2026, Europe/Berlin`: the day that it is for the reader."""
    shown = zones.here(at)
    return f"{shown.day} {shown:%B} {shown.year}, {zone_of(shown)}"


def said(at: datetime, zone: tzinfo | None = None) -> str:
    """`29 Nov 2026, 12:31 UTC+1, Europe/Berlin`: in a sentence or an e-mail, which has no title."""
    shown = zones.here(at, zone)
    return _named(f"{shown.day} {shown:%b} {shown.year}, {shown:%H:%M} {offset(shown)}", shown)


def titled(at: datetime) -> str:
    """`29 Nov 2026, 12:31:07 UTC+1, Europe/Berlin`: the whole of it, behind what is shown."""
    return _named(exact(at), zones.here(at))


def iso(at: datetime) -> str:
    """For programs: RFC 3339 in UTC, with milliseconds."""
    return _rfc(at.astimezone(UTC))


def iso_here(at: datetime) -> str:
    """For programs: RFC 3339 with the reader's offset."""
    return _rfc(zones.here(at))


def zone_of(shown: datetime) -> str:
    """What the zone of a moment is called."""
    return zones.name_of(shown.tzinfo or UTC)


def offset(shown: datetime) -> str:
    """`UTC`, `UTC+1`, `UTC-3:30`: how far clocks there are from UTC at that moment."""
    minutes = (shown.utcoffset() or timedelta()) // _MINUTE
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}"


def _named(text: str, shown: datetime) -> str:
    name = zone_of(shown)
    return text if name == zones.UTC_NAME else f"{text}, {name}"


def _rfc(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
