"""Times that people type into a form: read in the zone that it names, with what clocks do there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from reviewhub.core import zones
from reviewhub.core.display import moments
from reviewhub.core.errors import Invalid


@dataclass(frozen=True)
class Written:
    """A moment that somebody typed; `note` says which one it is where clocks show its time twice."""

    at: datetime
    note: str = ""


def read(given: Mapping[str, Any], name: str) -> Written:
    """The moment in a field of a form.

    Raises Invalid at the field for what is no time, and for one that clocks there leave out.
    """
    wall, zone = _wall(str(given.get(name, "")).strip()), zones.of_form(given)
    if wall is None:
        raise Invalid.at(f"/{name}", "Write a day and a time, such as 2026-12-24T08:00.")
    found = zones.meant(wall, zone)
    if not found:
        raise Invalid.at(f"/{name}", _left_out(wall, zone))
    return Written(found[0], _twice(wall, found[0], zone) if len(found) > 1 else "")


def _wall(text: str) -> datetime | None:
    """What a clock shows. Browsers send no offset, and with one it would be none on a wall."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo else found


def _left_out(wall: datetime, zone: tzinfo) -> str:
    try:
        instead = zones.after_gap(wall, zone)
    except (OverflowError, ValueError):
        return "That is beyond the calendar."
    return (
        f"There is no {wall:%H:%M} on {_day(wall)} in {zones.name_of(zone)}: clocks go forward over it. "
        f"The same moment is {instead:%H:%M}."
    )


def _twice(wall: datetime, at: datetime, zone: tzinfo) -> str:
    return (
        f"{wall:%H:%M} is there twice on {_day(wall)} in {zones.name_of(zone)}: the first one is taken, "
        f"{moments.offset(zones.here(at, zone))}."
    )


def _day(wall: datetime) -> str:
    return f"{wall.day} {wall:%b} {wall.year}"
