"""What "Needs me" lists is what the decision takes: one rule, whoever has whatever hand in a call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from reviewhub.accounts.models import Agent, AgentKey, Delegation, Member
from reviewhub.accounts.permissions import scope_of
from reviewhub.core.clock import now
from reviewhub.reviews.filters import Filters, needs_of
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import listed
from reviewhub.runs.models import Run
from tests.cast import Cast, add_key, caller, make_test_agent
from tests.driver import AgentHttp, PersonHttp, call, policy

NOBODY = ""
WHO = st.sampled_from([NOBODY, "bob", "dave", "alice"])
CHANGE = [{"op": "set", "path": "/amount", "value": "7.50"}]
STAGES: list[dict[str, Any]] = [
    {"approvals": 1},
    {"approvals": 2},
    {"stages": [{"team": "Support"}, {"team": "Finance"}]},
    {"stages": [{"team": "Support"}, {"team": "Finance", "together": True}]},
]
SPELLED = [
    "{}",
    "Bob <{}>",
    "user:{}.",
    "not{}",
    "{}.au",
    "&#43;{}",
    "é{}",
    "x%20 {}",
    "%2540{}",
    "for {}, please",
    "\u0430 {}",
    "\uff20{}",
]


@dataclass(frozen=True)
class Story:
    """How a call came before people."""

    eyes: bool
    stages: int
    owner: str
    owner_at_call: str
    owner_now: str
    key_by: str
    key_ended: str
    depth: int
    started: str
    acts_for: str
    spelled: int
    odd_letters: bool
    forked_above: str
    forked: str
    edited: str
    is_lost: bool


STORIES = st.builds(
    Story,
    eyes=st.sampled_from([True, True, True, False]),
    stages=st.integers(0, len(STAGES) - 1),
    owner=WHO,
    owner_at_call=WHO,
    owner_now=WHO,
    key_by=WHO,
    key_ended=st.sampled_from(["", "before", "during"]),
    depth=st.integers(0, 2),
    started=WHO,
    acts_for=WHO,
    spelled=st.integers(0, len(SPELLED) - 1),
    odd_letters=st.booleans(),
    forked_above=WHO,
    forked=WHO,
    edited=WHO,
    is_lost=st.booleans(),
)

PLAIN = Story(
    eyes=True, stages=1, owner=NOBODY, owner_at_call=NOBODY, owner_now=NOBODY, key_by=NOBODY, key_ended="",
    depth=0, started=NOBODY, acts_for=NOBODY, spelled=0, odd_letters=False, forked_above=NOBODY, forked=NOBODY,
    edited=NOBODY, is_lost=False,
)  # fmt: skip


def told(cast: Cast, story: Story) -> None:
    """Plays the story; in the end a request waits, unless an edit brought it to an end."""
    people: dict[str, Member] = cast.people
    policy(
        cast.support,
        {"name": "R", "tool": "*", "action": "require", "four_eyes": story.eyes, **STAGES[story.stages]},
    )
    agent, key, token = make_test_agent(cast.support, name=f"Agent {Agent.objects.count()}")
    http = AgentHttp(token=token)
    http.put("/tools/refund", {"effect": "once"}).ok()
    _key(agent, people.get(story.key_by), story.key_ended)
    _owned(agent, people.get(story.owner))
    run = _runs(http, cast, story)
    _owned(agent, people.get(story.owner_at_call))
    branch = _forked(http, run, people.get(story.forked))
    waiting: Any = http.pause(run, call("refund"), **branch).ok(201)["tool_calls"][0]
    if story.key_ended == "during":
        AgentKey.objects.filter(agent=agent).exclude(pk=key.pk).update(revoked_at=now())
    _owned(agent, people.get(story.owner_now))
    if story.edited:
        PersonHttp(people[story.edited]).decide(waiting, "edit", changes=CHANGE)
    if story.is_lost:
        _lose(http, cast, waiting)


def _key(agent: Agent, maker: Member | None, ended: str) -> None:
    """A second key, which is maybe revoked before anything begins."""
    row, _ = add_key(agent)
    at = now() - timedelta(hours=1) if ended == "before" else None
    AgentKey.objects.filter(pk=row.pk).update(made_by=maker, revoked_at=at)


def _owned(agent: Agent, owner: Member | None) -> None:
    Agent.objects.filter(pk=agent.pk).update(owner=owner)


def _runs(http: AgentHttp, cast: Cast, story: Story) -> str:
    """The run that asks, below so many others; whose it is, is said of the topmost."""
    who = cast.people.get(story.acts_for)
    text = SPELLED[story.spelled].format(_odd(who, odd=story.odd_letters)) if who else ""
    run = str(http.run(on_behalf_of=text)["id"])
    Run.objects.filter(pk=run).update(started_by=cast.people.get(story.started))
    if story.forked_above:
        _forked(http, run, cast.people[story.forked_above])
    for _ in range(story.depth):
        run = str(http.run(parent=run)["id"])
    return run


def _odd(who: Member, *, odd: bool) -> str:
    return who.person.email.replace("e", "\u0435") if odd else who.person.email.upper()


def _forked(http: AgentHttp, run: str, who: Member | None) -> dict[str, str]:
    """Somebody forks the run; the branch that goes on."""
    if who is None:
        return {}
    point = http.post(f"/runs/{run}/checkpoints", {"state": {"amount": 1}}).ok(201)
    http.post(f"/runs/{run}/checkpoints", {"state": {"amount": 2}, "parent": point["id"]})
    made = PersonHttp(who).post(f"/checkpoints/{point['id']}/fork", {"reason": "Anew."})
    return {"branch": made.json["branch"]["name"]} if made.status == 201 else {}


def _lose(http: AgentHttp, cast: Cast, waiting: Any) -> None:
    """Everybody approves what they may, the call begins, and nobody knows what came of it."""
    for name, _ in product(("alice", "bob", "dave"), range(2)):
        shown = http.get(f"/tool-calls/{waiting['id']}").ok()
        PersonHttp(cast.people[name]).decide(shown, "approve")
    if http.consume(http.get(f"/tool-calls/{waiting['id']}").ok()).status == 200:
        http.outcome(waiting, "unknown").ok()


def needs(member: Member) -> set[int]:
    who = caller(member)
    found = listed(scope_of(who), filters=Filters(needs=needs_of(who)), limit=50)
    return {row.number for row in found.rows}


def takes(row: ReviewRequest, member: Member) -> bool:
    """Whether the decision takes this member's answer, and it brings the request on; nothing of it stays."""
    type_ = "happened" if row.kind == ReviewRequest.Kind.UNKNOWN else "approve"
    shown = {"version": row.version, "digest": row.digest, "request": {"id": str(row.pk)}}
    point = transaction.savepoint()
    try:
        reply = PersonHttp(member).decide(shown, type_)
        return reply.status == 200 and reply.json["needed"] < row.approvals_needed - row.approvals
    finally:
        transaction.savepoint_rollback(point)


def agree(cast: Cast, story: Story, lender: str = NOBODY, borrower: str = NOBODY) -> dict[str, bool]:
    """Checks that the list of everybody who has not voted yet agrees with the decision; whom it offers the request."""
    cast.alice.teams.set([cast.support])
    told(cast, story)
    if lender and borrower and lender != borrower:
        began, ends = now() - timedelta(hours=1), now() + timedelta(hours=1)
        one, other = cast.people[lender], cast.people[borrower]
        Delegation.objects.create(
            workspace=cast.workspace, member=one, to=other, starts_at=began, ends_at=ends
        )
    offered = {}
    for row, (name, member) in product(ReviewRequest.objects.filter(state="pending"), cast.people.items()):
        offered[name] = row.number in needs(member)
        if not row.reviews.filter(member=member, voided_at__isnull=True).exists():
            assert offered[name] == takes(row, member), (name, row.kind)
    return offered


@pytest.mark.django_db
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=STORIES, lender=WHO, borrower=WHO)
def test_the_list_offers_what_the_decision_takes(
    cast: Cast, story: Story, lender: str, borrower: str
) -> None:
    point = transaction.savepoint()
    try:
        agree(cast, story, lender, borrower)
    finally:
        transaction.savepoint_rollback(point)


@pytest.mark.django_db
@pytest.mark.parametrize("spelled", range(len(SPELLED)))
@pytest.mark.parametrize("odd", [False, True])
def test_however_whom_it_acts_for_is_written(cast: Cast, spelled: int, odd: bool) -> None:
    agree(cast, replace(PLAIN, acts_for="bob", spelled=spelled, odd_letters=odd, depth=1))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("had", "bob", "alice"),
    [
        ({}, True, True),
        ({"started": "bob", "depth": 2}, False, True),
        ({"owner": "bob", "owner_now": "alice"}, False, False),
        ({"owner_at_call": "bob", "depth": 1}, False, True),
        ({"key_by": "bob", "key_ended": "during"}, False, True),
        ({"key_by": "bob", "key_ended": "before"}, True, True),
        ({"acts_for": "bob", "odd_letters": True, "depth": 2}, False, True),
        ({"forked_above": "bob", "depth": 1}, False, True),
        ({"forked": "bob"}, False, True),
        ({"started": "bob", "depth": 1, "is_lost": True, "stages": 0}, True, True),
        ({"eyes": False, "started": "bob", "depth": 1}, True, True),
    ],
)
def test_who_has_a_hand_in_it_is_offered_nothing(
    cast: Cast, had: dict[str, Any], bob: bool, alice: bool
) -> None:
    offered = agree(cast, replace(PLAIN, **had))
    assert (offered["bob"], offered["alice"]) == (bob, alice)


@pytest.mark.django_db
@pytest.mark.parametrize("owner", ["alice", "dave", NOBODY])
def test_in_the_place_of_one_who_has_a_hand_in_it_nobody_votes(cast: Cast, owner: str) -> None:
    offered = agree(cast, replace(PLAIN, owner=owner), lender="alice", borrower="dave")
    assert offered["dave"] == (owner == NOBODY)


@pytest.mark.django_db
def test_runs_above_cost_the_list_no_query(
    cast: Cast, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for depth in (0, 1, 2):
        told(cast, replace(PLAIN, depth=depth, stages=0))
    who = caller(cast.bob)
    scope, filters = scope_of(who), Filters(needs=needs_of(who))
    with django_assert_max_num_queries(3):  # those with a deadline, those without, and their teams
        assert len(listed(scope, filters=filters, limit=50).rows) == 3
