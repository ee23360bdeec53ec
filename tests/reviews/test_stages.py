"""Stages of teams: who fills which place, whose turn it is, and what every sequence of votes comes to.

Bob and erin are in Support, dave and frank in Finance, grace in both. Carol is a manager.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewhub.policies.requirement import AskedStage, Requirement
from reviewhub.reviews import turn
from reviewhub.reviews.requirement import StandIn, Stored
from reviewhub.reviews.rules import Involved, Vote, may_vote, resolve, tally
from reviewhub.reviews.seats import Seat

BOB, ERIN, DAVE, FRANK, GRACE, CAROL = (UUID(int=number) for number in range(1, 7))
NAMES = {"bob": BOB, "erin": ERIN, "dave": DAVE, "frank": FRANK, "grace": GRACE, "carol": CAROL}
TEAMS = {
    "bob": {"Support"}, "erin": {"Support"}, "dave": {"Finance"}, "frank": {"Finance"}, "grace": {"Support", "Finance"},
    "carol": set(),
}  # fmt: skip
START = datetime(2026, 1, 1, tzinfo=UTC)


def asks(*stages: str, **fields) -> Requirement:
    """From "2 Support", "1 Finance", "1 Legal together"."""
    made = []
    for text in stages:
        count, team, *beside = text.split()
        made.append(AskedStage(team=team, approvals=int(count), together=beside == ["together"]))
    return Requirement(stages=tuple(made), **fields)


def seats_of(who: str, requirement: Requirement) -> tuple[Seat, ...]:
    return tuple(Seat(at) for at, stage in enumerate(requirement.stages) if stage.team in TEAMS[who])


def votes(requirement: Requirement, said: Iterable[str]) -> list[Vote]:
    """From "bob approve", "carol approve any", "dave approve for bob": with the seats of both."""
    cast = []
    for minute, text in enumerate(said):
        who, verdict, *rest = text.split()
        seats: tuple[Seat, ...] | None = seats_of(who, requirement)
        if rest == ["any"]:
            seats = None
        elif rest:
            lent = [seat.stage for seat in seats_of(rest[1], requirement)]
            seats = (*seats_of(who, requirement), *(Seat(stage, NAMES[rest[1]]) for stage in lent))
        at = START + timedelta(minutes=minute)
        cast.append(Vote(member_id=NAMES[who], verdict=verdict, version=1, at=at, seats=seats))
    return cast


def test_the_teams_that_are_asked_are_those_that_it_waits_for() -> None:
    ids = {name: UUID(int=at) for at, name in enumerate(("Support", "Finance", "Legal"), 50)}
    needed = asks("2 Support", "1 Finance together", "1 Legal")
    late = (StandIn(name="Legal", team=ids["Legal"], stages=(1,)), StandIn(name="m", team=None, stages=(0,)))
    for said, stand_ins, wanted in (
        ([], (), ["Support", "Finance"]),
        (["bob approve"], late, ["Support", "Finance", "Legal"]),
        (["bob approve", "erin approve"], (), ["Finance"]),
        (["dave approve"], late, ["Support"]),
        (["bob approve", "erin approve", "dave approve"], (), ["Legal"]),
    ):
        stored = Stored(requirement=needed, teams=(*ids.values(),), stand_ins=stand_ins)
        found = turn.asks(stored, tally(needed, votes(needed, said), version=1))
        assert found.split() == [str(ids[name]) for name in wanted], said


THEN = asks("2 Support", "1 Finance")
BOTH = asks("1 Support", "1 Finance together")
TWO_NO = asks("1 Support", "1 Finance", deny_threshold=2)
TABLE = [
    # why, requirement, votes, result, whose turn it is then
    ("nobody voted", THEN, [], None, 0),
    ("one of Support", THEN, ["bob approve"], None, 0),
    ("two of Support, Finance is next", THEN, ["bob approve", "erin approve"], None, 1),
    ("two of Support and one of Finance", THEN, ["bob approve", "erin approve", "dave approve"], "approve", 2),
    ("two of Finance are not one of Support", THEN, ["bob approve", "dave approve", "frank approve"], None, 0),
    ("whatever order the votes came in", THEN, ["dave approve", "erin approve", "bob approve"], "approve", 2),
    ("one person counts once", THEN, ["grace approve", "bob approve"], None, 1),
    ("who is in both teams counts where they are needed", THEN, ["grace approve", "bob approve", "erin approve"],
     "approve", 2),
    ("also for the other team", THEN, ["grace approve", "bob approve", "dave approve"], "approve", 2),
    ("together: Finance may be first", BOTH, ["dave approve"], None, 0),
    ("together: both are asked", BOTH, ["dave approve", "bob approve"], "approve", 1),
    ("together: two of one team are not both", BOTH, ["bob approve", "erin approve"], None, 0),
    ("a rejection of any team ends it", THEN, ["bob approve", "dave reject"], "reject", 0),
    ("below the threshold it does not", TWO_NO, ["frank reject", "bob approve", "dave approve"], "approve", 2),
    ("one rejection of each team does", TWO_NO, ["bob approve", "dave reject", "erin reject"], "reject", 1),
    ("a change of mind opens the turn again", THEN, ["bob approve", "erin approve", "erin respond"], "respond", 0),
    ("whoever may stand in fills any place", THEN, ["carol approve any", "bob approve", "dave approve"], "approve", 2),
    ("in the place of somebody", THEN, ["dave approve for bob", "erin approve", "frank approve"], "approve", 2),
    ("not beside that somebody", THEN, ["dave approve for bob", "bob approve", "frank approve"], None, 0),
    ("nor in the same place twice", asks("2 Support"), ["dave approve for bob", "frank approve for bob"], None, 0),
    ("one's own team stays one's own", asks("1 Support", "1 Finance"), ["dave approve for bob", "bob approve"],
     "approve", 2),
]  # fmt: skip


@pytest.mark.parametrize(("why", "needed", "said", "result", "turn"), TABLE, ids=[row[0] for row in TABLE])
def test_stages(why, needed, said, result, turn):
    cast = votes(needed, said)
    resolution, counted = resolve(needed, cast, version=1), tally(needed, cast, version=1)
    assert ((resolution and resolution.type), counted.turn) == (result, turn)
    assert counted.needed == needed.approvals - len(counted.approvals)


def can_pass(needed: Requirement, approving: set[str]) -> bool:
    """The table in full: whether these people can be put at the places, each at one of their team's."""
    places = [stage.team for stage in needed.stages for _ in range(stage.approvals)]
    return any(
        all(team in TEAMS[who] for who, team in zip(order, places, strict=True))
        for order in itertools.permutations(sorted(approving), len(places))
    )


verdicts = st.sampled_from(["approve", "reject", "respond"])
sequences = st.lists(st.tuples(st.sampled_from(sorted(NAMES)), verdicts).map(" ".join), max_size=7)
some_stages = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from(["Support", "Finance"]), st.booleans()),
    min_size=1,
    max_size=3,
).map(
    lambda given: [
        f"{count} {team}{' together' if beside and at else ''}"
        for at, (count, team, beside) in enumerate(given)
    ]
)


@settings(max_examples=400, deadline=None)
@given(some_stages, sequences, st.integers(1, 2))
def test_every_sequence_of_votes_comes_to_what_the_table_says(stages, said, threshold):
    needed = asks(*stages, deny_threshold=threshold)
    cast = votes(needed, said)
    last = {text.split()[0]: text.split()[1] for text in said}
    approving = {who for who, verdict in last.items() if verdict == "approve"}
    expected = None
    if sum(verdict == "reject" for verdict in last.values()) >= threshold:
        expected = "reject"
    elif "respond" in last.values():
        expected = "respond"
    elif can_pass(needed, approving):
        expected = "approve"
    resolution, counted = resolve(needed, cast, version=1), tally(needed, cast, version=1)
    assert (resolution and resolution.type) == expected
    assert (counted.needed == 0) == can_pass(needed, approving)
    assert len({who for stage in counted.stages for who in stage}) == len(counted.approvals)
    for stage, people in zip(needed.stages, counted.stages, strict=True):
        assert len(people) <= stage.approvals
        assert all(stage.team in TEAMS[next(n for n in NAMES if NAMES[n] == who)] for who in people)


STRICT = asks("1 Support", "1 Finance", four_eyes=True)
FOR_BOB = (Seat(0, BOB),)


@pytest.mark.parametrize(
    ("who", "seats", "turn", "hand", "code"),
    [
        (BOB, (Seat(0),), 0, {}, None),
        (DAVE, (Seat(1),), 0, {}, "not_yet"),
        (DAVE, (Seat(1),), 1, {}, None),
        (ERIN, (Seat(0),), 1, {}, None),
        (CAROL, (), 0, {}, "not_asked"),
        (GRACE, (Seat(0), Seat(1)), 0, {}, None),
        (DAVE, FOR_BOB, 0, {}, None),
        (DAVE, FOR_BOB, 0, {"runs_started_by": frozenset({BOB})}, "four_eyes"),
        (DAVE, FOR_BOB, 0, {"edited_by": frozenset({BOB})}, "four_eyes"),
        (DAVE, (*FOR_BOB, Seat(1)), 0, {"agent_owned_by": BOB}, "not_yet"),
        (DAVE, (*FOR_BOB, Seat(1)), 1, {"agent_owned_by": BOB}, None),
    ],
)
def test_who_may_vote_when(who, seats, turn, hand, code):
    asked = {"member_id": who, "version": 1, "involved": Involved(**hand), "seats": seats, "turn": turn}
    barred = may_vote(STRICT, verdict="approve", **asked)
    assert (barred and barred.code) == code
    assert may_vote(STRICT, verdict="reject", **asked) is None
