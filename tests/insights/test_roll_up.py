"""The figures of days are those of a full recount, whenever and in whichever order they were counted."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from random import Random
from typing import Any

import numpy
import pytest

from reviewhub.core.clock import now
from reviewhub.hosting.models import Shift
from reviewhub.insights import roll_up as rolling
from reviewhub.insights.figures import Asked, Outcomes, depth, figures
from reviewhub.insights.models import Answered, EditedPath, Hour, RolledDay, Slice, Voted, Worked
from reviewhub.insights.people import reviewers
from reviewhub.insights.roll_up import due_days, roll_day, roll_up
from reviewhub.insights.sketch import ERROR
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.toolcalls.models import CallVersion
from tests.cast import Cast
from tests.insights.asked import final, vote

pytestmark = pytest.mark.django_db
# Some days ago, so that all of it is over.
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)
LAST = NOON.date()
FIRST = LAST - timedelta(days=2)
PEOPLE = ("approved", "edited", "rejected", "responded")
STATES = (*PEOPLE, "expired", "withdrawn", "cancelled")


def some_requests(cast: Cast, many: int, seed: int) -> None:
    """Requests of three days, with every outcome, some at midnight."""
    random = Random(seed)
    for _ in range(many):
        state = random.choice((*STATES, "approved", "approved", "pending"))
        at = datetime.combine(FIRST, datetime.min.time(), UTC) + timedelta(
            seconds=random.choice((0, 86_400, random.randrange(3 * 86_400 - 1)))
        )
        team = random.choice((cast.support, cast.finance))
        final(
            team,
            state=state,
            at=at,
            waited=random.choice((0, 5, random.lognormvariate(5, 2))),
            by=random.choice((cast.bob, cast.dave)) if state in PEOPLE else None,
            opened=random.choice((None, 1.0, 30.0)),
            escalated=random.choice((0, 0, 1)),
            tool=random.choice(("payments.refund_order", "mail.send")),
            agent=f"{team.name} {random.choice('ab')}",
        )


def asked(cast: Cast, **given: Any) -> Asked:
    return Asked(**{"workspace_id": cast.workspace.pk, "first": FIRST, "last": LAST} | given)


def recounted(rows: list[ReviewRequest]) -> tuple[Counter[str], float | None, float | None]:
    """The outcomes of some requests and the quantiles of their waits, straight from the rows."""
    waits = [(row.decided_at - row.created_at).total_seconds() * 1000 for row in rows if row.state in PEOPLE]  # type: ignore[operator]
    found = list(numpy.quantile(waits, (0.5, 0.95))) if waits else [None, None]
    return Counter(row.state for row in rows), found[0], found[1]


def same(one: Outcomes, rows: list[ReviewRequest]) -> None:
    counts, median, p95 = recounted(rows)
    assert {name: one.counts[name] for name in STATES} == {name: counts[name] for name in STATES}
    assert one.counts["escalated"] == sum(row.escalated > 0 for row in rows)
    for found, right in zip(one.times, (median, p95), strict=True):
        # Below a millisecond everything is one.
        assert (found is None) == (right is None)
        assert found is None or right is None or found == pytest.approx(right, rel=ERROR * 1.001, abs=1)


def test_figures_are_those_of_a_full_recount(cast: Cast) -> None:
    some_requests(cast, 30, seed=1)
    assert roll_up() > 0
    some_requests(cast, 30, seed=2)  # days that are over are right for ever, so these are counted by hand
    for at in range(3):
        roll_day(FIRST + timedelta(days=at))
    rows = list(ReviewRequest.objects.exclude(state="pending").prefetch_related("teams"))
    found = figures(asked(cast))
    same(found.total, rows)
    by_day: dict[date, list[ReviewRequest]] = defaultdict(list)
    by: dict[str, dict[Any, list[ReviewRequest]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_day[row.decided_at.date()].append(row)  # type: ignore[union-attr]
        by["tool"][row.tool_name].append(row)
        by["agent"][row.agent_id].append(row)
        by["rule"][json.loads(row.requirement)["rule"]].append(row)
        by["team"][row.teams.get().pk].append(row)
    assert found.by_day.keys() == by_day.keys()
    for day, many in by_day.items():
        same(found.by_day[day], many)
    for cut, groups in by.items():
        assert found.by[cut].keys() == groups.keys()
        for key, many in groups.items():
            same(found.by[cut][key], many)
    some = [row for row in rows if row.tool_name == "mail.send" and row.teams.get() == cast.support]
    same(figures(asked(cast, tool="mail.send", team=cast.support.pk)).total, some)


def test_the_period_before_is_counted_apart(cast: Cast) -> None:
    final(cast.support, state="approved", at=NOON, by=cast.bob)
    final(cast.support, state="rejected", at=NOON - timedelta(days=1), by=cast.bob)
    final(cast.support, state="expired", at=NOON - timedelta(days=2))
    roll_up()
    found = figures(asked(cast, first=LAST))
    assert (found.total.answered, found.before.answered, found.before.ended) == (1, 1, 1)
    assert list(found.by["tool"].values())[0].ended == 1
    assert figures(asked(cast, workspace_id=cast.other.pk)).total.ended == 0


def test_the_queue_by_hour_is_what_waited_then(cast: Cast) -> None:
    some_requests(cast, 25, seed=3)
    roll_up()
    rows = list(ReviewRequest.objects.all())
    for one in depth(cast.workspace.pk, FIRST, LAST, now()):
        ends = [NOON.replace(hour=one.hour) + timedelta(hours=1) - timedelta(days=ago) for ago in range(3)]
        waited = [
            sum(row.created_at < end and (row.decided_at is None or row.decided_at >= end) for row in rows)
            for end in ends
        ]
        assert one.waiting == pytest.approx(sum(waited) / 3)
    expired = sum(one.expired * 3 for one in depth(cast.workspace.pk, FIRST, LAST, now()))
    assert expired == pytest.approx(sum(row.state == "expired" for row in rows))


def test_an_hour_that_is_not_over_is_left_out(cast: Cast) -> None:
    final(cast.support, state="pending", at=NOON, waited=0)
    roll_up()
    found = depth(cast.workspace.pk, LAST, LAST, NOON + timedelta(minutes=90))
    assert [one.waiting for one in found if one.waiting] == [1.0]


def test_votes_are_those_of_a_full_recount(cast: Cast) -> None:
    some_requests(cast, 40, seed=4)
    roll_up()
    found = {one.member: one for one in reviewers(cast.workspace.pk, FIRST, LAST)}
    votes = list(Review.objects.order_by("created_at", "id"))
    assert found.keys() == {row.member for row in votes}
    for who, one in found.items():
        mine = [row for row in votes if row.member_id == who.pk]
        assert one.votes == len(mine)
        runs = [len(list(many)) for yes, many in groupby(row.verdict == "approve" for row in mine) if yes]
        assert one.streak.longest == max(runs, default=0)
    alone = reviewers(cast.workspace.pk, FIRST, LAST, team=cast.finance.pk)
    assert {one.member for one in alone} <= {cast.dave}


def test_quick_and_unopened_approvals_are_signs(cast: Cast) -> None:
    for at in range(12):
        opened = (0.5, None, 60.0)[at % 3]
        final(cast.support, state="approved", at=NOON + timedelta(minutes=at), by=cast.bob, opened=opened)
    for _ in range(12):
        final(cast.finance, state="approved", at=NOON, by=cast.dave, opened=60.0, agent="payer")
    roll_up()
    bob, dave = sorted(reviewers(cast.workspace.pk, FIRST, LAST), key=lambda one: one.member.person.name)
    assert (bob.quick, bob.unopened, bob.signs) == (0.5, pytest.approx(1 / 3), ["unopened"])
    assert bob.median == pytest.approx(30_250, rel=ERROR)
    assert dave.signs == []


def test_who_answered_an_earlier_version_need_only_read_the_changes(cast: Cast) -> None:
    long = json.dumps({"text": "x" * 3000})
    for who, team in ((cast.bob, cast.support), (cast.dave, cast.finance)):
        row = final(team, state="approved", at=NOON, arguments=long, agent=team.name)
        if who == cast.bob:
            vote(row, who, "edit", at=NOON - timedelta(hours=1))
            Review.objects.filter(request=row).update(voided_at=NOON)
        call = row.tool_call
        CallVersion.objects.create(
            tool_call=call, version=2, arguments=long, digest="sha256:1", author_kind="person", changes="[]"
        )
        ReviewRequest.objects.filter(pk=row.pk).update(version=2)
        row.refresh_from_db()
        vote(row, who, "approve", at=NOON, opened=10.0)
    roll_up()
    assert dict(Voted.objects.values_list("member", "quick")) == {cast.bob.pk: 0, cast.dave.pk: 1}


def test_what_edits_change_is_counted_once_a_call_and_place(cast: Cast) -> None:
    for paths in (["/items/0/amount", "/items/12/amount", "/note"], ["/note"]):
        row = final(cast.support, state="edited", at=NOON, by=cast.bob)
        changes = json.dumps([{"op": "set", "path": path, "value": 1} for path in paths])
        CallVersion.objects.create(
            tool_call=row.tool_call, version=2, arguments="{}", digest="sha256:1", author_kind="person",
            changes=changes,
        )  # fmt: skip
        row.tool_call.version = 2
        row.tool_call.save()
    roll_up()
    tool = "payments.refund_order"
    assert figures(asked(cast)).paths == [(tool, "/note", 2), (tool, "/items/*/amount", 1)]


def test_counting_twice_changes_nothing(cast: Cast) -> None:
    some_requests(cast, 15, seed=5)
    models = (Answered, EditedPath, Hour, Voted, Slice)
    roll_up()
    before = [list(model.objects.values().order_by("pk")) for model in models]
    for day in (FIRST, LAST):
        roll_day(day)
    after = [list(model.objects.values().order_by("pk")) for model in models]
    drop = lambda rows: sorted(  # noqa: E731
        str({name: value for name, value in row.items() if name != "id"}) for row in rows
    )
    assert [drop(rows) for rows in before] == [drop(rows) for rows in after]


def test_a_day_is_counted_until_it_is_over_for_an_hour(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    final(cast.support, state="approved", at=NOON, by=cast.bob)
    clock = [NOON + timedelta(hours=1)]
    monkeypatch.setattr(rolling, "now", lambda: clock[0])
    roll_up()
    final(cast.support, state="approved", at=NOON + timedelta(hours=11), by=cast.bob)
    clock[0] = NOON + timedelta(hours=12, minutes=30)
    assert due_days(clock[0]) == [LAST, LAST + timedelta(days=1)]
    roll_up()
    assert figures(asked(cast)).total.ended == 2
    clock[0] = NOON + timedelta(hours=13)
    roll_up()
    assert due_days(clock[0]) == [LAST + timedelta(days=1)]
    assert RolledDay.objects.get(day=LAST).is_final


def test_who_counted_later_wins(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    final(cast.support, state="approved", at=NOON, by=cast.bob)
    roll_up()
    final(cast.support, state="approved", at=NOON, by=cast.bob)
    monkeypatch.setattr(rolling, "now", lambda: NOON)
    roll_day(LAST)
    assert figures(asked(cast)).total.ended == 1


def test_work_is_that_of_shifts_that_began_on_the_day(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    row = final(cast.support, state="approved", at=NOON, by=cast.bob)
    waking = Resumption.objects.create(
        workspace=cast.workspace, branch=row.branch, kind="hosted", due_at=NOON
    )
    whose = {"workspace": cast.workspace, "agent": row.agent, "run": row.run, "branch": row.branch,
             "resumption": waking, "owner": "w", "seen_at": NOON}  # fmt: skip
    times = {"useful_us": 5, "replay_us": 1, "saving_us": 2, "ledger_us": 3, "paid": 70, "spared": 40}
    Shift.objects.create(began_at=NOON, ended_at=NOON + timedelta(days=2), ending="lost", **whose, **times)
    left = Shift.objects.create(began_at=NOON, **whose, **times)
    clock = [NOON + timedelta(days=3)]
    monkeypatch.setattr(rolling, "now", lambda: clock[0])
    roll_up()
    one = Worked.objects.get()
    assert (one.day, one.useful_us, one.overhead_us, one.losses, one.spared) == (LAST, 5, 5, 1, 40)
    assert LAST in due_days(clock[0])  # somebody may still end the other
    Shift.objects.filter(pk=left.pk).update(ended_at=NOON, ending="paused")
    roll_up()
    assert Worked.objects.get().useful_us == 10
    assert LAST not in due_days(clock[0])
