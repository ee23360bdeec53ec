"""What a clock on a wall can mean, where days begin, and which zones there are."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from reviewhub.core import zones

BERLIN, NEW_YORK, KOLKATA, CAIRO, LORD_HOWE, APIA = (
    zones.zone_called(name)
    for name in (
        "Europe/Berlin",
        "America/New_York",
        "Asia/Kolkata",
        "Africa/Cairo",
        "Australia/Lord_Howe",
        "Pacific/Apia",
    )
)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "text", "found"),
    [
        (UTC, "2026-03-29T02:30", ["2026-03-29T02:30"]),
        (KOLKATA, "2026-03-29T02:30", ["2026-03-28T21:00"]),
        (BERLIN, "2026-03-29T01:59", ["2026-03-29T00:59"]),
        (BERLIN, "2026-03-29T02:00", []),
        (BERLIN, "2026-03-29T02:59", []),
        (BERLIN, "2026-03-29T03:00", ["2026-03-29T01:00"]),
        (BERLIN, "2026-10-25T01:59", ["2026-10-24T23:59"]),
        (BERLIN, "2026-10-25T02:00", ["2026-10-25T00:00", "2026-10-25T01:00"]),
        (BERLIN, "2026-10-25T02:59", ["2026-10-25T00:59", "2026-10-25T01:59"]),
        (BERLIN, "2026-10-25T03:00", ["2026-10-25T02:00"]),
        (NEW_YORK, "2026-11-01T01:30", ["2026-11-01T05:30", "2026-11-01T06:30"]),
        # Half an hour of change.
        (LORD_HOWE, "2026-10-04T02:15", []),
        (LORD_HOWE, "2026-04-05T01:45", ["2026-04-04T14:45", "2026-04-04T15:15"]),
        # Beyond what a calendar has in UTC.
        (BERLIN, "0001-01-01T00:00", []),
        (NEW_YORK, "9999-12-31T23:00", []),
    ],
)
def test_what_a_clock_shows_is_none_one_or_two_moments(
    zone: zones.tzinfo, text: str, found: list[str]
) -> None:
    assert zones.meant(wall(text), zone) == [wall(one).replace(tzinfo=UTC) for one in found]


def test_every_moment_is_found_again_from_the_clock_that_shows_it() -> None:
    for zone in (BERLIN, NEW_YORK, KOLKATA, CAIRO, LORD_HOWE):
        for minutes in range(0, 366 * 24 * 60, 97):
            at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
            assert at in zones.meant(zones.here(at, zone).replace(tzinfo=None), zone)


def test_after_clocks_went_forward_they_show_so_much_more() -> None:
    assert zones.after_gap(wall("2026-03-29T02:30"), BERLIN) == wall("2026-03-29T03:30")
    assert zones.after_gap(wall("2026-10-04T02:15"), LORD_HOWE) == wall("2026-10-04T02:45")


@pytest.mark.parametrize(
    ("zone", "day", "began", "hours"),
    [
        (UTC, "2026-03-29", "2026-03-29T00:00", 24),
        (BERLIN, "2026-03-29", "2026-03-28T23:00", 23),
        (BERLIN, "2026-10-25", "2026-10-24T22:00", 25),
        (KOLKATA, "2026-10-25", "2026-10-24T18:30", 24),
        # Clocks there go forward at midnight, and the day has none.
        (CAIRO, "2026-04-24", "2026-04-23T22:00", 23),
        # A whole day was left out.
        (APIA, "2011-12-29", "2011-12-29T10:00", 24),
        (APIA, "2011-12-31", "2011-12-30T10:00", 24),
    ],
)
def test_a_day_is_from_its_first_moment_to_that_of_the_next(
    zone: zones.tzinfo, day: str, began: str, hours: int
) -> None:
    since, until = (each(date.fromisoformat(day), zone) for each in (zones.begin, zones.end))
    assert since == wall(began).replace(tzinfo=UTC)
    assert until is not None and until - since == timedelta(hours=hours)


def test_beyond_the_calendar_no_day_begins_or_ends() -> None:
    assert zones.begin(date.min, BERLIN) is None and zones.end(date.max, NEW_YORK) is None
    assert zones.end(date.max, UTC) is None
    latest = datetime.max.replace(tzinfo=UTC)
    assert zones.here(latest, BERLIN) == latest


def test_the_readers_day_has_begun_at_their_midnight() -> None:
    at = datetime(2026, 3, 29, 22, 30, tzinfo=UTC)
    for zone, began in (
        (UTC, "2026-03-29T00:00"),
        (BERLIN, "2026-03-29T22:00"),
        (NEW_YORK, "2026-03-29T04:00"),
    ):
        with timezone.override(zone):
            assert zones.today_began(at) == wall(began).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "localtime", "../../etc/passwd", "Europe", "europe/berlin", "\0"]
)
def test_what_is_no_zone_is_utc(name: str) -> None:
    assert name not in zones.known() and zones.zone_called(name) is UTC


def test_browsers_may_say_an_old_name_and_keep_it() -> None:
    for name in ("Asia/Calcutta", "Europe/Kiev", "Etc/GMT+5", "UTC"):
        assert name in zones.known() and zones.name_of(zones.zone_called(name)) == name


def test_a_form_says_in_which_zone_it_was_filled_in() -> None:
    with timezone.override(BERLIN):
        assert zones.of_form({"zone": "America/New_York"}) == NEW_YORK
        assert zones.of_form({"zone": "UTC"}) is UTC
        assert zones.of_form({"zone": "nowhere"}) == zones.of_form({}) == BERLIN
