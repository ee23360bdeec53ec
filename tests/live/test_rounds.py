"""Open queues are told together what each would have been told alone, and nobody who is gone is told anything."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Hashable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from reviewhub.accounts.models import Member, Person, Role
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.clock import now
from reviewhub.live import rounds as module
from reviewhub.live.consumers import QueueSocket
from reviewhub.live.rounds import Change, Round, Rounds
from reviewhub.live.visitor import Door, visitors
from reviewhub.reviews.look import look
from reviewhub.reviews.models import ReviewRequest, Snooze
from tests.cast import Cast, member
from tests.web.make import waiting

QUERIES = (b"since=3", b"since=4&me=1", b"mine=1", b"free=1", b"snoozed=1", b"state=any", b"team=Finance")


def door(who: Member, slug: str = "northwind") -> Door:
    browser = Client()
    browser.force_login(who.person)
    return Door(
        session_key=browser.session.session_key or "", person_id=who.person_id, signed_in_at=now(), slug=slug
    )


def socket(query: bytes) -> Any:
    made = QueueSocket()
    made.scope = {"url_route": {"kwargs": {"slug": "northwind"}}, "query_string": query}
    return made


def test_readers_of_one_kind_would_all_have_been_told_the_same(cast: Cast) -> None:
    support, finance = (cast.support,), (cast.finance,)
    more = [member(f"s{n}", workspace=cast.workspace, role=Role.REVIEWER, teams=support) for n in range(3)]
    more += [member("f1", workspace=cast.workspace, role=Role.REVIEWER, teams=finance)]
    more += [member("m1", workspace=cast.workspace, role=Role.MANAGER)]
    rows = [
        waiting(cast.support),
        waiting(cast.support, risk="critical"),
        waiting(cast.finance, agent="payer"),
    ]
    claimed, looked, put_off = more[0], more[1], more[2]
    ReviewRequest.objects.filter(pk=rows[0].pk).update(
        claimed_by=claimed, claimed_until=now() + timedelta(hours=1)
    )
    look(request_id=rows[1].pk, member=looked)
    Snooze.objects.create(request=rows[1], member=put_off, version=1, until=now() + timedelta(hours=1))
    change = Change(slug="northwind", requests=frozenset(row.pk for row in rows), event_id=9)
    Person.objects.filter(pk=more[4].person_id).update(zone="Asia/Tokyo", zone_is_chosen=True)
    everybody = [cast.alice, cast.bob, cast.carol, cast.dave, *more]
    doors = {door(one) for one in everybody}
    callers, marked = module.read(change, doors)
    assert len(callers) == len(everybody)
    assert marked == {one.pk for one in (claimed, looked, put_off)}
    words: dict[Hashable, str] = {}
    for query in QUERIES:
        page = socket(query)
        for caller in callers.values():
            kind = (module.kind_of(caller, marked), page._page(caller))
            told = without_times(page._in_their_zone(caller, page._news, change))
            assert words.setdefault(kind, told) == told, (caller.member.person.name, query)
    # Bob, who shares a kind with nobody else in Support who has no mark, is not told what others are.
    assert len(words) > len(QUERIES) * 4
    assert len(words) < len(QUERIES) * len(everybody)


def without_times(text: str) -> str:
    return re.sub(r"\d+ (s|seconds?|m|min|minutes?|h|hours?)\b", "", text)


def test_who_is_behind_many_doors_takes_no_more_questions_than_one(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    few = {door(cast.bob), door(cast.carol)}
    many = few | {
        door(member(f"r{n}", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,)))
        for n in range(20)
    }
    with django_assert_num_queries(4):
        assert len(visitors(few)) == 2
    with django_assert_num_queries(4):
        assert all(caller.lent_team_ids == frozenset() for caller in visitors(many).values())


def test_nobody_who_is_gone_is_behind_a_door(cast: Cast) -> None:
    here, out, off, ended, stranger = (
        door(cast.bob),
        door(cast.carol),
        door(cast.dave),
        door(cast.alice),
        door(cast.mallory),
    )
    SessionStore(out.session_key).delete()
    Member.objects.filter(pk=cast.dave.pk).update(is_active=False)
    Member.objects.filter(pk=cast.alice.pk).update(sessions_since=now() + timedelta(seconds=5))
    assert set(visitors({here, out, off, ended, stranger})) == {here}
    assert set(visitors({door(cast.mallory, "contoso")})) != set()


async def test_what_is_said_to_many_is_made_once(monkeypatch: pytest.MonkeyPatch, cast_free: Any) -> None:
    doors, said = cast_free(monkeypatch, 50)
    change = Change(slug="northwind", requests=frozenset({uuid.uuid4()}), event_id=1)
    rounds = Rounds()
    for one in doors:
        rounds.enter(one, one)

    def say(caller: MemberCaller) -> str:
        said.append(caller)
        return "the news"

    told = await asyncio.gather(
        *(rounds.round_of(change, one).told(one, lambda _caller: None, say) for one in doors)
    )
    assert told == ["the news"] * 50
    assert len(said) == 1


async def test_who_is_gone_by_then_is_told_nothing(monkeypatch: pytest.MonkeyPatch, cast_free: Any) -> None:
    doors, said = cast_free(monkeypatch, 3)
    stranger = Door(session_key="x", person_id=uuid.uuid4(), signed_in_at=None, slug="northwind")
    going = Round(Change(slug="northwind", requests=frozenset(), event_id=1), {*doors, stranger})
    assert await going.told(stranger, lambda _caller: None, lambda _caller: "secret") is None
    assert said == []


async def test_who_came_after_it_began_gets_a_round_that_knows_them(
    monkeypatch: pytest.MonkeyPatch, cast_free: Any
) -> None:
    doors, _said = cast_free(monkeypatch, 2)
    rounds, change = Rounds(), Change(slug="northwind", requests=frozenset(), event_id=1)
    rounds.enter(doors[0], doors[0])
    first = rounds.round_of(change, doors[0])
    assert rounds.round_of(change, doors[0]) is first
    second = rounds.round_of(change, doors[1])
    assert second is not first
    assert await second.told(doors[1], lambda _caller: None, lambda _caller: "news") == "news"
    assert await first.told(doors[0], lambda _caller: None, lambda _caller: "news") == "news"


@pytest.fixture
def cast_free() -> Any:
    """Doors with somebody behind them, and no database."""

    def made(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[list[Door], list[MemberCaller]]:
        doors = [
            Door(session_key=f"k{n}", person_id=uuid.uuid4(), signed_in_at=None, slug="northwind")
            for n in range(count)
        ]
        workspace = uuid.uuid4()

        def caller() -> MemberCaller:
            one = MemberCaller.knowing(Member(role=Role.REVIEWER, workspace_id=workspace), lent=frozenset())
            one.__dict__["team_ids"] = frozenset()
            return one

        known = {one: caller() for one in doors}
        monkeypatch.setattr(
            module, "visitors", lambda asked: {one: known[one] for one in asked if one in known}
        )
        monkeypatch.setattr(module.news, "with_marks", lambda _changed, **_of: set())
        return doors, []

    return made
