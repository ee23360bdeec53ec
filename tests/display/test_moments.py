"""Moments on a page, where it is read: what is shown, what a program reads, what stands behind it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from reviewhub.core import zones
from reviewhub.core.display import moments

SUMMER, WINTER = (
    "2026-10-25T00:30:07+00:00",
    "2026-10-25T01:30:07+00:00",
)  # on both sides of the change in Berlin


def drawn(tag: str, **context: object) -> str:
    return Template("{% " + tag + " %}").render(Context(context))


@pytest.mark.parametrize(
    ("zone", "at", "shown", "program", "named"),
    [
        ("UTC", SUMMER, "25 Oct 2026, 00:30:07 UTC", "2026-10-25T00:30:07.000Z", ""),
        ("UTC", WINTER, "25 Oct 2026, 01:30:07 UTC", "2026-10-25T01:30:07.000Z", ""),
        ("Europe/Berlin", SUMMER, "25 Oct 2026, 02:30:07 UTC+2", "2026-10-25T02:30:07.000+02:00", "Europe/Berlin"),
        ("Europe/Berlin", WINTER, "25 Oct 2026, 02:30:07 UTC+1", "2026-10-25T02:30:07.000+01:00", "Europe/Berlin"),
        ("Asia/Kolkata", SUMMER, "25 Oct 2026, 06:00:07 UTC+5:30", "2026-10-25T06:00:07.000+05:30", "Asia/Kolkata"),
        ("America/St_Johns", SUMMER, "24 Oct 2026, 22:00:07 UTC-2:30", "2026-10-24T22:00:07.000-02:30",
         "America/St_Johns"),
    ],
)  # fmt: skip
def test_a_moment_in_the_readers_zone(zone: str, at: str, shown: str, program: str, named: str) -> None:
    found = datetime.fromisoformat(at)
    title = ", ".join(filter(None, (shown, named)))
    with timezone.override(zones.zone_called(zone)):
        assert drawn("moment at", at=found) == f'<time datetime="{program}" title="{title}">{shown}</time>'
        day, clock = shown.split(", ")
        for form, words in (
            ("clock", clock[:8]),
            ("short", clock[:5]),
            ("minute", f"{clock[:5]} {clock[9:]}"),
            ("record", moments.iso(found)),
        ):
            whole = drawn(f'moment at "{form}"', at=found)
            assert whole == f'<time datetime="{program}" title="{title}">{words}</time>'
        old = drawn("ago at now", at=found, now=found + timedelta(days=3))
        assert f'title="{title}" data-ago="{int(found.timestamp())}">{day}</time>' in old
        due = drawn("due at now now", at=found, now=found - timedelta(hours=2))
        assert due.startswith(f'<time datetime="{program}" title="{title}" class="due"') and "2 h" in due
        assert drawn("reader_zone") == zone
    assert datetime.fromisoformat(program) == found
    # And afterwards nothing is left of it.
    assert drawn("reader_zone") == "UTC"


def test_what_the_record_says_stays_as_it_stands_there() -> None:
    with timezone.override(zones.zone_called("Europe/Berlin")):
        shown = drawn('moment at "record"', at="2026-10-25T00:30:07.123456+00:00")
    assert ">2026-10-25T00:30:07.123456+00:00</time>" in shown and "Europe/Berlin" in shown


def test_no_moment_is_nothing_and_one_at_the_end_of_the_calendar_is_in_utc() -> None:
    assert drawn("moment at", at=None) == drawn("moment at", at="") == ""
    with timezone.override(zones.zone_called("Europe/Berlin")):
        assert "31 Dec 9999, 23:59:59 UTC<" in drawn("moment at", at=datetime.max.replace(tzinfo=UTC))
        assert "1 Jan 1, " in drawn("moment at", at=datetime.min.replace(tzinfo=UTC))


def test_in_a_sentence_the_zone_is_named_and_an_email_has_that_of_its_receiver() -> None:
    at, kolkata = datetime.fromisoformat(WINTER), zones.zone_called("Asia/Kolkata")
    assert moments.said(at) == "25 Oct 2026, 01:30 UTC"
    assert moments.said(at, kolkata) == "25 Oct 2026, 07:00 UTC+5:30, Asia/Kolkata"
    with timezone.override(kolkata):
        assert moments.said(at) == moments.said(at, kolkata)
        assert moments.day(at) == "25 October 2026, Asia/Kolkata"


def test_a_field_begins_with_what_clocks_there_show() -> None:
    at = datetime.fromisoformat(SUMMER)
    with timezone.override(zones.zone_called("Europe/Berlin")):
        assert re.fullmatch("2026-10-25T02:30", Template("{{ at|wall }}").render(Context({"at": at})))
