"""The insights page: what it shows, what its files say, and that nothing in it is more than text."""

from __future__ import annotations

import csv
import io
import re
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client, RequestFactory

from reviewhub.accounts.models import Agent, Member
from reviewhub.audit.models import Event
from reviewhub.deliveries.models import Email
from reviewhub.insights.found import TABLES
from reviewhub.insights.models import Alarm, Opening
from reviewhub.insights.raise_alarms import raise_alarms
from reviewhub.insights.roll_up import roll_up
from reviewhub.insights.tables import time_words
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.toolcalls.models import Decision, Grant, ToolCall
from reviewhub.web.charts import Series, bars, count_ticks, plot, short, spark, stack, time_ticks
from reviewhub.web.insight_asked import Choices, read
from tests.cast import Cast
from tests.driver import agent_of, observed, policy
from tests.insights.asked import final
from tests.web.make import waiting

As = Callable[[Member], Client]
HOSTILE = '=cmd"><script>alert(1)</script>\u202e'
TODAY = datetime.now(UTC)
AT = TODAY - timedelta(hours=30)


def decided(cast: Cast, **given: Any) -> ReviewRequest:
    return final(cast.support, **{"state": "approved", "at": AT, "by": cast.bob, "opened": 1.0} | given)


def rows_of(client: Client, name: str, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/northwind/insights/{name}.csv?{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{name}-')
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))


def test_what_waits_now_and_what_is_overdue_is_said(cast: Cast, as_: As) -> None:
    client = as_(cast.carol)
    assert "Now 0 wait, 0 of them overdue." in client.get("/northwind/insights").content.decode()
    for deadline in (TODAY - timedelta(minutes=1), TODAY + timedelta(days=1), None):
        row = decided(cast, state="pending", by=None, waited=0)
        ReviewRequest.objects.filter(pk=row.pk).update(deadline_at=deadline)
    page = client.get("/northwind/insights?days=7").content.decode()
    assert "Now 3 wait, 1 of them overdue." in page
    assert client.get("/northwind/queue?late=1").status_code == 200


def test_without_anything_every_card_says_so(cast: Cast, as_: As) -> None:
    page = as_(cast.carol).get("/northwind/insights").content.decode()
    for words in (
        "Nothing is counted yet",
        "Nothing waited at the end",
        "Nothing was decided",
        "Nobody voted",
        "No edited call",
    ):
        assert words in page
    assert all(rows_of(as_(cast.carol), name) is not None for name in TABLES)


def test_the_page_and_its_files_say_the_same(cast: Cast, as_: As) -> None:
    for at, state in enumerate(("approved", "approved", "edited", "rejected")):
        decided(cast, state=state, waited=60 * (at + 1))
    decided(cast, state="expired", by=None)
    roll_up()
    client = as_(cast.carol)
    page = client.get("/northwind/insights").content.decode()
    (tool,) = rows_of(client, "outcomes-by-tool")
    assert (tool["tool"], tool["ended"], tool["approved_share"]) == ("payments.refund_order", "5", "0.5")
    assert float(tool["median_seconds"]) == pytest.approx(150, rel=0.01)
    for words in ("50.0%", "20.0%", "2 m", "payments.refund_order", "Bob"):
        assert words in page
    (bob,) = rows_of(client, "reviewers")
    assert (bob["person"], bob["votes"], bob["too_quick_share"]) == ("Bob", "4", "1.0")
    assert sum(float(row["expired"]) for row in rows_of(client, "queue-by-hour")) > 0


@pytest.mark.parametrize(
    ("query", "ended"),
    [
        ("days=7", 2), ("tool=mail.send", 1), ("tool=no", 0), ("rule=Large refunds", 2), ("rule=-", 0),
        ("agent=00000000-0000-7000-8000-000000000000", 0), ("agent=x", 0),
        ("agent=mailer", 1), ("days=31", 2), ("since=2020-99-01", 2),
        ("since=2001-01-01&until=2001-02-01", 0), ("until=9999-12-31", 2), ("since=2030-01-01&until=2020-01-01", 0),
    ],
)  # fmt: skip
def test_the_address_narrows(cast: Cast, as_: As, query: str, ended: int) -> None:
    decided(cast)
    decided(cast, tool="mail.send", agent="mailer")
    roll_up()
    client = as_(cast.carol)
    assert sum(int(row["ended"]) for row in rows_of(client, "outcomes-by-agent", query)) == ended
    assert client.get(f"/northwind/insights?{query}").status_code == 200


@pytest.mark.parametrize(
    ("today", "first", "last"),
    [
        ("2026-11-30", "2026-10-01", "2026-10-31"),
        ("2026-01-01", "2025-12-01", "2025-12-31"),
        ("2028-03-31", "2028-02-01", "2028-02-29"),
    ],
)
def test_last_month_is_the_calendar_month_before_this_one(
    cast: Cast, today: str, first: str, last: str
) -> None:
    day = date.fromisoformat(today)

    def asked(address: str) -> Choices:
        return read(RequestFactory().get(f"/?{address}").GET, cast.workspace.pk, day)

    found = asked("month=last&tool=refund")
    assert (found.asked.first.isoformat(), found.asked.last.isoformat()) == (first, last)
    assert (found.days, found.month, found.query) == (None, "last", "tool=refund")
    for address in ("month=last&since=2020-01-01", "month=last&until=2020-01-31", "month=x", "month="):
        assert asked(address).month != "last", address
    assert asked("month=last&days=7").month == "last"


def test_last_month_can_be_chosen_and_its_files_hold_the_same_days(cast: Cast, as_: As) -> None:
    today = datetime.now(UTC)
    last = today.replace(day=1) - timedelta(days=1)
    decided(cast, at=last.replace(hour=12), tool="mail.send")
    decided(cast, at=today.replace(hour=0, minute=0, second=0))
    roll_up()
    client = as_(cast.carol)
    assert '<a href="?month=last">Last month</a>' in client.get("/northwind/insights").content.decode()
    page = client.get("/northwind/insights?month=last&by=tool").content.decode()
    assert '<a href="?by=tool&amp;month=last" aria-current="true">Last month</a>' in page
    assert 'name="month" value="last"' in page and 'name="days"' not in page
    (tool,) = rows_of(client, "outcomes-by-tool", "month=last")
    assert tool["tool"] == "mail.send"


def test_the_reviewers_table_says_how_many_they_answered(cast: Cast, as_: As) -> None:
    for state in ("responded", "responded", "approved"):
        decided(cast, state=state)
    roll_up()
    (bob,) = rows_of(as_(cast.carol), "reviewers")
    assert (bob["votes"], bob["answered_in_its_place"], bob["rejected_share"]) == ("3", "2", "0.0")
    page = as_(cast.carol).get("/northwind/insights").content.decode()
    assert ">Answered</th>" in page.split('id="f-who"')[1]


def test_of_other_workspaces_nothing_is_shown(cast: Cast, as_: As) -> None:
    decided(cast)
    roll_up()
    mallory = as_(cast.mallory)
    for name in TABLES:
        assert "Bob" not in mallory.get(f"/contoso/insights/{name}.csv").content.decode()
    assert "refund_order" not in mallory.get("/contoso/insights").content.decode()


def test_hostile_words_stay_words(cast: Cast, as_: As) -> None:
    cast.bob.person.name = HOSTILE
    cast.bob.person.save()
    decided(cast, tool=HOSTILE, agent=HOSTILE)
    roll_up()
    client = as_(cast.carol)
    for by in ("tool", "agent", "rule", "team"):
        page = client.get("/northwind/insights", {"by": by, "tool": HOSTILE}).content.decode()
        assert "<script>alert" not in page
        assert "\u202e" not in page.split("<main")[1]
    for name, column in (("outcomes-by-tool", "tool"), ("reviewers", "person")):
        (row,) = rows_of(client, name)
        assert row[column] == f"'{HOSTILE}"


def test_what_should_not_be_is_listed_and_managers_are_told_once(cast: Cast, as_: As) -> None:
    ran, unused, again = (decided(cast).tool_call for _ in range(3))
    ToolCall.objects.filter(pk=ran.pk).update(ran_without_approval=True)
    for call in (unused, again):
        made = Decision.objects.create(
            workspace=cast.workspace, tool_call=call, type="approve", version=1, digest="d", by_kind="person",
            decided_at=AT,
        )  # fmt: skip
        Grant.objects.create(
            workspace=cast.workspace, tool_call=call, decision=made, version=1, digest="d", state="expired"
        )
    Grant.objects.create(
        workspace=cast.workspace, tool_call=again, decision=made, version=1, digest="d", state="open"
    )
    assert (raise_alarms(), raise_alarms()) == (1, 0)
    assert sorted(Email.objects.values_list("to", flat=True)) == ["alice@example.com", "carol@example.com"]
    assert Event.objects.filter(kind="alarm.raised").count() == Alarm.objects.count() == 1
    waiting(cast.support, kind="unknown", seconds=None)
    found = rows_of(as_(cast.carol), "needs-a-look")
    assert [(row["what"], row["run"]) for row in found[:2]] == [
        ("ran without approval", str(ran.run_id)),
        ("approved, never executed", str(unused.run_id)),
    ]
    assert [row["what"] for row in found[2:]] == ["outcome unknown"]
    assert 'role="alert"' in as_(cast.carol).get("/northwind/insights").content.decode()


def test_an_agent_and_a_team_are_known_by_name_and_an_unknown_one_is_said(cast: Cast, as_: As) -> None:
    """Of an unknown one there are no figures; what waits to be looked at is of the agent that is asked for, too."""
    agent, client = agent_of(cast.support), as_(cast.carol)
    policy(cast.support, {"name": "Held", "tool": "*", "action": "require"})
    observed(agent, agent.run()["id"])
    agent_of(cast.support, "Other agent")
    for query, many, unknown in (
        ("agent=Support agent", 1, []),
        ("agent=Other agent", 0, []),
        ("agent=Nobody", 0, ["agent Nobody"]),
        (f"agent={uuid.uuid4()}&team=Support", 0, 1),
        ("team=<b>", 1, ["team <b>"]),
    ):
        page = client.get(f"/northwind/insights?{query}")
        assert page.context["open"].looks == page.context["troubles"].unapproved.many == many, query
        said = page.context["choices"].unknown
        assert (len(said) if isinstance(unknown, int) else said) == unknown
        assert ("There is no " in page.content.decode()) is bool(
            unknown
        ) and "<b> here" not in page.content.decode()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(958.8, "16 m"), (9.96, "10 s"), (59.6, "1 m 00 s"), (112.6, "1 m 53 s"), (599.7, "10 m"), (3599, "1 h"),
     (4799, "1 h 20 m"), (86399, "1 d"), (4.24, "4.2 s")],
)  # fmt: skip
def test_a_time_in_words_is_rounded(seconds: float, said: str) -> None:
    assert time_words(seconds) == said


def test_this_month_ends_today(cast: Cast) -> None:
    found = read(RequestFactory().get("/?month=this").GET, cast.workspace.pk, date(2026, 3, 17))
    assert (found.asked.first, found.asked.last, found.month) == (date(2026, 3, 1), date(2026, 3, 17), "this")


def test_the_alarms_of_the_page_lead_to_exactly_these(cast: Cast, as_: As) -> None:
    """Without what only reads, of the agent and tool that the page is narrowed to."""
    agent, other, client = agent_of(cast.support), agent_of(cast.support, "Other agent"), as_(cast.carol)
    agent.put("/tools/look", {"effect": "read", "schema": {"type": "object"}}).ok()
    policy(cast.support, {"name": "Held", "tool": "*", "action": "require"})
    run = agent.run()["id"]
    for tool in ("refund", "refund", "mail", "look"):
        observed(agent, run, tool=tool)
    observed(other, other.run()["id"])
    chosen = Agent.objects.get(name="Support agent")
    for query, tools in (
        ("", ["mail", "refund", "refund", "refund"]),
        (f"agent={chosen.pk}", ["mail", "refund", "refund"]),
        (f"agent={chosen.pk}&tool=refund", ["refund", "refund"]),
    ):
        page = client.get(f"/northwind/insights?{query}")
        (address, *more) = set(
            re.findall(r'href="(/northwind/audit\?kind=post_review[^"]+)"', page.content.decode())
        )
        assert page.context["troubles"].unapproved.many == len(tools) and not more
        lines = client.get(unescape(address)).context["lines"]
        assert sorted(line.event.tool for line in lines) == tools, query


def test_what_was_looked_at_afterwards(cast: Cast, as_: As) -> None:
    for at in range(4):
        call = decided(cast).tool_call
        PostReview.objects.create(
            workspace=cast.workspace, tool_call=call, run=call.run, agent=call.agent, rank=0, drawn_because="x",
            reviewed_at=AT, state="flagged" if at == 0 else "fine", severity="high" if at == 0 else "",
        )  # fmt: skip
    (row,) = rows_of(as_(cast.carol), "reviewed-afterwards")
    assert (row["fine"], row["flagged_high"], row["agreement_share"]) == ("3", "1", "0.75")
    assert "75.0%" in as_(cast.carol).get("/northwind/insights").content.decode()


def test_an_opening_is_noted_once_a_version_for_those_who_may_decide(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    where = f"/northwind/requests/{row.number}"
    for who in (cast.dave, cast.carol, cast.mallory, cast.bob, cast.bob):
        as_(who).get(where)
    assert Opening.objects.get().member == cast.bob
    ReviewRequest.objects.filter(pk=row.pk).update(version=2)
    as_(cast.bob).get(f"{where}/peek")  # as the queue shows its first row by itself
    assert Opening.objects.count() == 1
    as_(cast.bob).get(f"{where}/peek?chosen=1")
    assert sorted(Opening.objects.values_list("version", flat=True)) == [1, 2]


def test_charts_escape_their_words_and_keep_to_their_frame() -> None:
    says = {"ticks": [(0, "<0>"), (4, "4")], "across": ["<a>"], "says": '"><script>'}
    for drawn in (
        plot([Series("k1", "x", [1, None, 9, 2, None, 3])], **says),
        bars([[("f1", 1), ("f4", 99)], []], **says),
        stack([("f1", 0), ("f2", 3)], says=says["says"]),
    ):
        assert "<script>" not in drawn and "&lt;script&gt;" in drawn
        assert "-" not in "".join(part for part in drawn.split('"') if part[:1] == "M")
    assert spark([None, 1]) == "" and "nan" not in spark([2, 2, 2])
    assert "nan" not in plot([], ticks=[(0, "0")], across=[], says="")


@pytest.mark.parametrize(
    ("values", "x"), [([None, None, 3], 592), ([3, None, None], 0), ([None, 3, None], 296), ([3], 0)]
)
def test_a_day_alone_can_be_seen_inside_the_frame(values: list[float | None], x: int) -> None:
    drawn = plot([Series("k1", "x", values)], ticks=[(0, "0"), (4, "4")], across=[], says="")
    assert f'd="M{x}.0 ' in drawn
    assert "h8.0" in drawn


@pytest.mark.parametrize("most", [0, 0.2, 1, 3, 3.1, 7, 28, 99, 1000, 123_456])
def test_axes_hold_what_is_drawn(most: float) -> None:
    for ticks in (count_ticks(most), time_ticks(most), time_ticks(most * 100)):
        assert ticks[0] == 0 and len(ticks) == 4
    assert count_ticks(most)[-1] >= most
    assert time_ticks(most)[-1] >= most * 0.999


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (0.3, "0.3"),
        (9999, "9999"),
        (20_000, "20 k"),
        (1.5e6, "1.5 M"),
        (1.5e9, "1.5 bn"),
        (2e13, "20000 bn"),
    ],
)
def test_a_mark_of_an_axis_is_short_and_no_power_of_ten(number: float, said: str) -> None:
    assert short(number) == said
