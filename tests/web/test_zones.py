"""Every reader sees times where they are, and types them there; nobody else does, and the record stays in UTC."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client, RequestFactory
from django.utils import timezone

from reviewhub.accounts.models import Delegation, Member, Person
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.accounts.zone import zone_of
from reviewhub.audit.models import Event
from reviewhub.core import zones
from reviewhub.core.clock import now
from reviewhub.core.display import moments
from reviewhub.deliveries.models import Email
from reviewhub.insights.afterwards import afterwards
from reviewhub.insights.figures import Asked
from reviewhub.insights.raise_alarms import raise_alarms
from reviewhub.live import news
from reviewhub.live.consumers import QueueSocket
from reviewhub.reviews import turn
from reviewhub.reviews.filters import filters_of as queue_filters
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.queries import votes_today
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import ToolCall
from reviewhub.web.audit_filters import filters_of, words_of
from reviewhub.web.reader import ReaderZone
from reviewhub.web.remembering import RememberForm
from reviewhub.web.saved import kept
from tests.cast import Cast, member
from tests.driver import PersonHttp
from tests.web.make import drawn, standing_approval, waiting

ROOT = Path(__file__).resolve().parent.parent.parent
As = Callable[[Member], Client]
AT = datetime(2026, 7, 1, 20, 30, 7, tzinfo=UTC)
IN_BERLIN = (
    '<time datetime="2026-07-01T22:30:07.000+02:00" title="1 Jul 2026, 22:30:07 UTC+2, Europe/Berlin">'
)
IN_KOLKATA = (
    '<time datetime="2026-07-02T02:00:07.000+05:30" title="2 Jul 2026, 02:00:07 UTC+5:30, Asia/Kolkata">'
)


def sits(client: Client, zone: str) -> Client:
    """At a browser that is set to this zone."""
    client.cookies["zone"] = zone
    return client


def chose(one: Member, zone: str) -> None:
    Person.objects.filter(pk=one.person_id).update(zone=zone, zone_is_chosen=True)


def said_in(answer: Any) -> list[str]:
    return [str(one) for one in get_messages(answer.wsgi_request)]


def due_at(cast: Cast, at: datetime) -> ReviewRequest:
    row = waiting(cast.support)
    ReviewRequest.objects.filter(pk=row.pk).update(created_at=at - timedelta(hours=1), deadline_at=at)
    return row


def page_of(client: Client, row: ReviewRequest) -> str:
    return client.get(f"/northwind/requests/{row.number}").content.decode()


# ---- whose zone it is ----


def test_two_people_in_two_zones_see_their_own_at_the_same_time(cast: Cast, as_: As) -> None:
    row = due_at(cast, AT)
    bob, alice = sits(as_(cast.bob), "Europe/Berlin"), sits(as_(cast.alice), "Asia/Kolkata")
    for _ in range(2):
        for client, own, other in ((bob, IN_BERLIN, IN_KOLKATA), (alice, IN_KOLKATA, IN_BERLIN)):
            page = page_of(client, row)
            assert own in page and other not in page
    assert 'title="1 Jul 2026, 20:30:07 UTC"' in page_of(as_(cast.carol), row)


def test_the_browsers_zone_is_kept_until_somebody_chooses_one(cast: Cast, as_: As) -> None:
    bob = as_(cast.bob)

    def kept() -> tuple[str, bool]:
        return Person.objects.values_list("zone", "zone_is_chosen").get(pk=cast.bob.person_id)

    for browser, is_kept in (("Mars/Olympus", ""), ("Europe/Berlin", "Europe/Berlin"), ("", "Europe/Berlin")):
        sits(bob, browser).get("/northwind/queue")
        assert kept() == (is_kept, False)
    assert "Europe/Berlin" in bob.get("/account").content.decode()
    chosen = sits(bob, "Europe/Berlin").post("/account/zone", {"zone": "Asia/Kolkata"}, follow=True)
    assert kept() == ("Asia/Kolkata", True)
    assert "Your times are those of Asia/Kolkata." in chosen.content.decode()
    page = bob.get("/account").content.decode()
    assert '<option value="Asia/Kolkata" selected>' in page and "UTC+5:30, Asia/Kolkata" in page
    refused = bob.post("/account/zone", {"zone": "Mars/Olympus"})
    assert refused.status_code == 422 and kept() == ("Asia/Kolkata", True)
    bob.post("/account/zone", {"zone": ""})
    sits(bob, "America/New_York").get("/northwind/queue")
    assert kept() == ("America/New_York", False)


def test_the_zone_of_somebody_whose_browser_says_nothing_is_the_last_one_known(cast: Cast) -> None:
    person = cast.bob.person
    assert zone_of(person) is UTC
    person.zone = "Europe/Berlin"
    assert zones.name_of(zone_of(person)) == "Europe/Berlin"
    assert zones.name_of(zone_of(person, {"zone": "Asia/Kolkata"})) == "Asia/Kolkata"
    assert zones.name_of(zone_of(person, {"zone": "nowhere"})) == "Europe/Berlin"
    person.zone_is_chosen = True
    assert zones.name_of(zone_of(person, {"zone": "Asia/Kolkata"})) == "Europe/Berlin"


# ---- and nobody else's ----


def test_nothing_is_left_of_a_zone_when_the_answer_is_made(cast: Cast, as_: As, monkeypatch: Any) -> None:
    chose(cast.bob, "Europe/Berlin")
    bob = as_(cast.bob)
    bob.get("/northwind/queue")
    assert moments.exact(AT) == "1 Jul 2026, 20:30:07 UTC"
    assert b"UTC+2" not in Client().get("/signin").content
    monkeypatch.setattr("reviewhub.web.start.lent_to", lambda member: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bob.get("/northwind/start")
    assert moments.exact(AT) == "1 Jul 2026, 20:30:07 UTC"


def test_threads_that_answer_at_once_do_not_mix_zones_up(cast: Cast) -> None:
    names = ["Europe/Berlin", "Asia/Kolkata", "America/New_York", ""]
    people = [Person(name="Somebody", zone=name, zone_is_chosen=bool(name)) for name in names]
    meet, seen = threading.Barrier(len(people), timeout=30), {}

    def answer(request: Any) -> Any:
        meet.wait()
        seen.setdefault(request.user.zone, []).append(zones.name_of(zones.current()))
        return meet.wait()

    def sit(start: int) -> None:
        for step in range(len(people)):
            request = RequestFactory().get("/northwind/queue")
            request.COOKIES["sessionid"], request.user = "x", people[(start + step) % len(people)]
            ReaderZone(answer)(request)
        seen.setdefault("after", []).append(zones.name_of(zones.current()))

    threads = [threading.Thread(target=sit, args=(at,)) for at in range(len(people))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen == {name: [name or "UTC"] * 4 for name in names} | {"after": ["UTC"] * 4}


def test_programs_and_exports_get_utc_whoever_asks(cast: Cast, as_: As) -> None:
    chose(cast.alice, "Asia/Kolkata")
    row = due_at(cast, AT)
    answered = PersonHttp(cast.alice).get(f"/requests/{row.pk}").ok()
    assert answered["deadline_at"].endswith("Z")
    alice = as_(cast.alice)
    alice.get("/northwind/audit")
    lines = b"".join(alice.get("/northwind/audit/export?as=jsonl").streaming_content).decode()
    assert "+00:00" in lines and "+05:30" not in lines


# ---- every time on every page ----


@pytest.mark.parametrize("path", sorted((ROOT / "templates").rglob("*.html")), ids=lambda path: path.name)
def test_only_the_tag_writes_times(path: Path) -> None:
    text = path.read_text()
    assert "<time" not in text, "a moment is drawn by {% moment %}, {% ago %} or {% due %}"
    assert not re.search(r"\|(date|time|timesince|timeuntil|localtime|utc|timezone)\b", text)
    assert not re.search(r"\{%\s*now\b", text)
    if path.name != "base.html":
        assert not re.search(r"\|iso\b", text), "times for people have a zone"


def test_days_that_the_database_counts_are_days_of_utc() -> None:
    """Those of the reader would be the default while a page is made."""
    found = {
        (path.name, line)
        for path in (ROOT / "reviewhub").rglob("*.py")
        for line in re.findall(r"(?:Trunc|Extract)\w*\([^)]*\)", path.read_text())
    }
    assert found and not [one for one in found if "tzinfo=UTC" not in one[1]]


def test_figures_are_those_of_days_of_utc_for_every_reader(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    at = now().replace(hour=10, minute=0) - timedelta(days=2)
    drawn(row.tool_call, state="fine", reviewed_at=at)
    chose(cast.carol, "Asia/Kolkata")
    with timezone.override(zones.zone_called("Asia/Kolkata")):
        found = afterwards(Asked(workspace_id=cast.workspace.pk, first=at.date(), last=at.date()))
    assert found == {at.date(): {"fine": 1}}
    shown = as_(cast.carol).get("/northwind/insights").content.decode()
    assert "Days are days of UTC." in shown


def test_the_audit_log_has_the_readers_days_and_what_is_on_record(cast: Cast, as_: As) -> None:
    chose(cast.alice, "Asia/Kolkata")
    alice = as_(cast.alice)
    alice.get("/northwind/audit")
    event = Event.objects.order_by("-pk")[0]
    page = alice.get(f"/northwind/audit?event={event.pk}").content.decode()
    assert moments.iso(event.at) in page
    with timezone.override(zones.zone_called("Asia/Kolkata")):
        assert f">{moments.day(event.at)}</th>" in page
        assert f">{moments.clock(event.at)}</time>" in page


def test_votes_of_today_are_those_since_the_readers_midnight(cast: Cast) -> None:
    row = waiting(cast.support)
    Review.objects.create(
        request=row, member=cast.bob, name="Bob", verdict="approve", version=1, digest=row.digest
    )
    with timezone.override(zones.zone_called("Asia/Kolkata")):
        midnight = zones.end(zones.here(now()).date(), zones.current())
        assert midnight is not None
        minute = timedelta(minutes=1)
        assert [votes_today(cast.bob, at) for at in (midnight - minute, midnight + minute)] == [1, 0]


# ---- what people type ----


def lend(client: Client, cast: Cast, **times: str) -> Any:
    return client.post("/northwind/stand-ins/lend", {"to": str(cast.dave.pk), **times})


def test_a_time_is_typed_where_the_form_was_opened_and_comes_back_as_it_was_typed(
    cast: Cast, as_: As
) -> None:
    bob = sits(as_(cast.bob), "Asia/Kolkata")
    bob.get("/northwind/queue")
    page = bob.get("/northwind/stand-ins").content.decode()
    assert 'name="zone" value="Asia/Kolkata"' in page
    assert 'From <span class="mute">Asia/Kolkata</span>' in page
    year = now().year + 1
    # On the way between two forms the browser came elsewhere; what was typed was typed before.
    sits(bob, "America/New_York")
    made = lend(
        bob, cast, starts_at=f"{year}-01-05T09:00", ends_at=f"{year}-01-06T09:00", zone="Asia/Kolkata"
    )
    assert made.status_code == 302
    row = Delegation.objects.get()
    assert row.starts_at == datetime(year, 1, 5, 3, 30, tzinfo=UTC)
    assert said_in(made) == [
        f"Dave votes in your place from 4 Jan {year}, 22:30 UTC-5, America/New_York, "
        f"until 5 Jan {year}, 22:30 UTC-5, America/New_York."
    ]
    assert f'datetime="{year}-01-05T09:00:00.000+05:30"' in (
        sits(bob, "Asia/Kolkata").get("/northwind/stand-ins").content.decode()
    )
    again = lend(
        bob, cast, starts_at=f"{year}-01-05T10:00", ends_at=f"{year}-01-05T11:00", zone="Asia/Kolkata"
    )
    assert again.status_code == 422
    assert f'value="{year}-01-05T10:00"' in again.content.decode()
    assert f"from 5 Jan {year}, 09:00 UTC+5:30, Asia/Kolkata" in again.content.decode()


def change(zone: str, *, forward: bool) -> datetime:
    """The next moment at which clocks there change, in UTC."""
    found, at = zones.zone_called(zone), now().replace(minute=0, second=0, microsecond=0)
    while True:
        at += timedelta(hours=1)
        before, after = (
            (at + step).astimezone(found).utcoffset() for step in (-timedelta(hours=1), timedelta(0))
        )
        assert before is not None and after is not None
        if before != after and (after > before) is forward:
            return at


def test_a_time_that_clocks_leave_out_is_refused_and_the_same_moment_named(cast: Cast, as_: As) -> None:
    bob = sits(as_(cast.bob), "Europe/Berlin")
    at = change("Europe/Berlin", forward=True)
    day = f"{at:%Y-%m-%d}"
    refused = lend(bob, cast, starts_at=f"{day}T02:30", ends_at=f"{day}T09:00", zone="Europe/Berlin")
    page = refused.content.decode()
    assert refused.status_code == 422 and not Delegation.objects.exists()
    assert f"There is no 02:30 on {at.day} {at:%b %Y} in Europe/Berlin: clocks go forward over it." in page
    assert "The same moment is 03:30." in page
    assert f'value="{day}T02:30"' in page


def test_a_time_that_clocks_show_twice_is_the_first_one_and_that_is_said(cast: Cast, as_: As) -> None:
    bob = sits(as_(cast.bob), "Europe/Berlin")
    at = change("Europe/Berlin", forward=False)
    day = f"{at:%Y-%m-%d}"
    made = lend(bob, cast, starts_at=f"{day}T02:30", ends_at=f"{day}T09:00", zone="Europe/Berlin")
    assert Delegation.objects.get().starts_at == at - timedelta(minutes=30)
    assert said_in(made)[1:] == [
        f"02:30 is there twice on {at.day} {at:%b %Y} in Europe/Berlin: the first one is taken, UTC+2."
    ]


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "0001-01-01T00:00", "2026-12-24T08:00+02:00", "9999-12-31T23:59"]
)
def test_what_is_no_time_is_refused_at_its_field(cast: Cast, as_: As, text: str) -> None:
    for zone in ("Europe/Berlin", "America/New_York"):
        answer = lend(as_(cast.bob), cast, starts_at=text, ends_at=text, zone=zone)
        assert answer.status_code == 422, zone


def test_a_remembered_approval_holds_to_the_end_of_the_day_where_it_was_typed() -> None:
    for zone, until in (
        ("UTC", "2026-10-25T23:59:59Z"),
        ("Europe/Berlin", "2026-10-25T22:59:59Z"),
        ("Asia/Kolkata", "2026-10-25T18:29:59Z"),
    ):
        form = RememberForm(is_asked=True, until="2026-10-25", zone=zone)
        assert form.tree()["until"] == until
        assert ("r-zone", zone) in form.hidden
    for text in ("2026-02-30", "9999-12-31", "soon"):
        assert RememberForm(until=text, zone="Europe/Berlin").tree()["until"] == text


def test_a_standing_approval_says_until_when_in_the_readers_zone(cast: Cast, as_: As) -> None:
    chose(cast.bob, "Asia/Kolkata")
    made = standing_approval(waiting(cast.support), cast.bob)
    StandingApproval.objects.filter(pk=made.pk).update(until=AT + timedelta(days=36500))
    page = as_(cast.bob).get("/northwind/standing-approvals").content.decode()
    assert "UTC+5:30, Asia/Kolkata" in page


def test_days_of_the_audit_filter_are_the_readers_and_a_link_keeps_whose(cast: Cast, as_: As) -> None:
    given = {"since": "2026-10-25", "until": "2026-10-25"}
    with timezone.override(zones.zone_called("Europe/Berlin")):
        own, sent = (filters_of(one, cast.workspace.pk) for one in (given, {**given, "zone": "Asia/Kolkata"}))
        assert words_of(given) == "since 2026-10-25, until 2026-10-25, days of Europe/Berlin"
        assert words_of({"zone": "Asia/Kolkata"}) == ""
    assert (own.since, own.until) == (
        datetime(2026, 10, 24, 22, tzinfo=UTC),
        datetime(2026, 10, 25, 23, tzinfo=UTC),
    )
    assert sent.since == datetime(2026, 10, 24, 18, 30, tzinfo=UTC)
    none = filters_of({"since": "9999-99-99", "until": "9999-12-31", "zone": "x"}, cast.workspace.pk)
    assert none.since is None and none.until is None
    chose(cast.alice, "Europe/Berlin")
    page = as_(cast.alice).get("/northwind/audit?since=2026-10-25&zone=Asia/Kolkata").content.decode()
    assert '<input type="hidden" name="zone" value="Asia/Kolkata">' in page


def test_a_view_keeps_whose_days_it_is_about_and_no_zone_without_days() -> None:
    asked = {"zone": ["Asia/Kolkata"], "kind": ["request.voted"]}
    assert kept("audit", asked) == "kind=request.voted"
    assert kept("audit", {**asked, "since": ["2026-10-25"]}) == (
        "kind=request.voted&since=2026-10-25&zone=Asia%2FKolkata"
    )


# ---- what is sent ----


def test_an_email_has_the_zone_of_whoever_gets_it(cast: Cast) -> None:
    chose(cast.bob, "Europe/Berlin")
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    row = due_at(cast, AT)
    row.refresh_from_db()
    assert turn.tell(row, [cast.support.pk]) == 2
    bodies = dict(Email.objects.values_list("to", "body"))
    assert "until 1 Jul 2026, 22:30 UTC+2, Europe/Berlin:" in bodies[cast.bob.person.email]
    assert "until 1 Jul 2026, 20:30 UTC:" in bodies[erin.person.email]


def test_an_alarm_has_the_zone_of_whoever_gets_it(cast: Cast) -> None:
    chose(cast.carol, "Asia/Kolkata")
    call = waiting(cast.support).tool_call
    ToolCall.objects.filter(pk=call.pk).update(ran_without_approval=True)
    assert raise_alarms() == 1
    bodies = dict(Email.objects.values_list("to", "body"))
    call.refresh_from_db()
    for one, zone in ((cast.carol, "Asia/Kolkata"), (cast.alice, "UTC")):
        assert f"    {moments.said(call.created_at, zones.zone_called(zone))}: " in bodies[one.person.email]


def test_what_is_put_off_comes_back_at_the_readers_time(cast: Cast, as_: As) -> None:
    chose(cast.bob, "Asia/Kolkata")
    row = waiting(cast.support, seconds=90_000)
    answer = as_(cast.bob).post(f"/northwind/requests/{row.number}/snooze", {"minutes": "60"})
    assert said_in(answer)[0].endswith(" UTC+5:30, Asia/Kolkata.")


def test_live_updates_have_the_zone_of_whom_they_are_told(cast: Cast) -> None:
    row, socket = due_at(cast, AT), QueueSocket()

    def say(caller: MemberCaller, about: None) -> str:
        return news.queue_news(caller, [row.pk], filters=queue_filters({}, caller=caller), since=1)

    for one, cookies, found in (
        (cast.bob, {"zone": "Asia/Kolkata"}, IN_KOLKATA),
        (cast.bob, {"zone": "Europe/Berlin"}, IN_BERLIN),
        (cast.alice, {}, 'title="1 Jul 2026, 20:30:07 UTC"'),
    ):
        socket.scope = {"cookies": cookies}
        assert found.rstrip(">") in socket._in_their_zone(MemberCaller(one), say, None)
    assert moments.exact(AT) == "1 Jul 2026, 20:30:07 UTC"
