"""Quorum and four eyes, as tables. Alice, bob and carol review; mallory has a hand in the call."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.policies.rules import Requirement
from reviewhub.reviews.rules import Involved, Resolution, Vote, may_vote, resolve, tally

ALICE, BOB, CAROL, MALLORY = (UUID(int=number) for number in range(1, 5))
CAST = {"alice": ALICE, "bob": BOB, "carol": CAROL, "mallory": MALLORY}
START = datetime(2026, 1, 1, tzinfo=UTC)

ONE = Requirement(team="Support")
TWO = Requirement(team="Support", approvals=2)
TWO_NO = Requirement(team="Support", approvals=2, deny_threshold=2)
STRICT = Requirement(team="Support", approvals=1, four_eyes=True)
NO_EDIT = Requirement(team="Support", allowed_decisions=("approve", "reject"))
ONLY_EDIT = Requirement(team="Support", approvals=2, allowed_decisions=("edit",))
ANSWER = Requirement(team="Support", approvals=3, allowed_decisions=("respond",))


def votes(*said: str) -> list[Vote]:
    """From "alice approve", "bob edit 2", "carol reject 1 void": who, verdict, version, whether void; in order."""
    cast = []
    for minute, text in enumerate(said):
        who, verdict, *rest = text.split()
        cast.append(
            Vote(
                member_id=CAST[who],
                verdict=verdict,
                version=int(rest[0]) if rest else 1,
                at=START + timedelta(minutes=minute),
                voided=rest[1:] == ["void"],
            )
        )
    return cast


TABLE = [
    # why, requirement, votes, version, result
    ("nobody voted", ONE, [], 1, None),
    ("one approval is enough", ONE, ["alice approve"], 1, "approve"),
    ("one of two is not", TWO, ["alice approve"], 1, None),
    ("two people are", TWO, ["alice approve", "bob approve"], 1, "approve"),
    ("one person twice is not", TWO, ["alice approve", "alice approve"], 1, None),
    ("a void vote does not count", TWO, ["alice approve 1 void", "bob approve"], 1, None),
    ("a denial rejects", TWO, ["alice approve", "bob reject"], 1, "reject"),
    ("below the denial threshold it stays open", TWO_NO, ["alice approve", "bob reject"], 1, None),
    ("and approvals still pass it", TWO_NO, ["alice approve", "bob reject", "carol approve"], 1, "approve"),
    ("two denials reject", TWO_NO, ["alice reject", "carol reject"], 1, "reject"),
    ("one person denies once", TWO_NO, ["alice reject", "alice reject"], 1, None),
    ("when both are reached the call does not run", ONE, ["alice approve", "bob reject"], 1, "reject"),
    ("a change of mind counts, the first vote no more", TWO, ["alice approve", "alice reject"], 1, "reject"),
    ("also towards yes", TWO_NO, ["alice reject", "alice approve", "bob approve"], 1, "approve"),
    ("an edit is its author's vote", ONE, ["alice edit 2"], 2, "edit"),
    ("an edit voids what was said before", TWO, ["bob approve 1", "alice edit 2"], 2, None),
    ("a colleague passes the edit", TWO, ["alice edit 2", "bob approve 2"], 2, "edit"),
    ("the old version cannot pass any more", TWO, ["alice approve 1", "bob approve 1"], 2, None),
    (
        "a denial of the old version is old",
        TWO,
        ["bob reject 1", "alice edit 2", "carol approve 2"],
        2,
        "edit",
    ),
    ("an edit of an edit", TWO, ["alice edit 2", "bob edit 3", "alice approve 3"], 3, "edit"),
    ("an edit cannot be about the first version", ONE, ["alice edit 1"], 1, None),
    ("four eyes: an edit needs somebody else", STRICT, ["alice edit 2"], 2, None),
    ("four eyes: who passes it", STRICT, ["alice edit 2", "bob approve 2"], 2, "edit"),
    ("one answer decides", ANSWER, ["alice respond"], 1, "respond"),
    ("an answer where none is allowed does not", NO_EDIT, ["alice respond"], 1, None),
    (
        "approvals where none are allowed do not",
        ANSWER,
        ["alice approve", "bob approve", "carol approve"],
        1,
        None,
    ),
    ("an edit where none is allowed does not", NO_EDIT, ["alice edit 2"], 2, None),
    (
        "approving a colleague's edit is part of editing",
        ONLY_EDIT,
        ["alice edit 2", "bob approve 2"],
        2,
        "edit",
    ),
    ("approving the first version is not", ONLY_EDIT, ["alice approve", "bob approve"], 1, None),
    ("rejecting is always possible", ANSWER, ["alice reject"], 1, "reject"),
    ("a denial goes before an answer", ANSWER, ["alice respond", "bob reject"], 1, "reject"),
]


@pytest.mark.parametrize(
    ("why", "requirement", "said", "version", "result"), TABLE, ids=[row[0] for row in TABLE]
)
def test_quorum(why, requirement, said, version, result):
    cast = votes(*said)
    resolution = resolve(requirement, cast, version=version)
    assert (resolution and resolution.type) == result


def test_a_resolution_says_on_whom_it_rests():
    said = votes("carol approve", "alice approve", "bob approve")
    assert resolve(TWO, said, version=1) == Resolution(
        type="approve", version=1, by=ALICE, counted=(CAROL, ALICE)
    )


def test_the_tally_counts_people():
    said = votes("alice approve 1", "bob edit 2", "carol reject 2", "bob approve 2")
    counted = tally(TWO_NO, said, version=2)
    assert (counted.approvals, counted.denials, counted.needed) == ((BOB,), (CAROL,), 1)


@pytest.mark.parametrize("verdict", ["approve", "edit", "respond"])
@pytest.mark.parametrize("hand", ["runs_started_by", "agent_owned_by", "keys_made_by", "acts_for"])
def test_who_has_a_hand_in_a_call_does_not_sign_it_off(hand, verdict):
    involved = Involved(**{hand: MALLORY if hand == "agent_owned_by" else frozenset({MALLORY})})
    barred = may_vote(STRICT, member_id=MALLORY, verdict=verdict, version=1, involved=involved)
    assert barred is not None
    assert barred.code == "four_eyes"
    assert barred.text.endswith(".")
    assert may_vote(STRICT, member_id=BOB, verdict=verdict, version=1, involved=involved) is None
    assert may_vote(STRICT, member_id=MALLORY, verdict="reject", version=1, involved=involved) is None
    assert may_vote(ONE, member_id=MALLORY, verdict=verdict, version=1, involved=involved) is None


@pytest.mark.parametrize(
    ("requirement", "verdict", "code"),
    [
        (STRICT, "approve", "four_eyes"),
        (STRICT, "edit", None),
        (STRICT, "reject", None),
        (ONE, "approve", None),
    ],
)
def test_who_edited_a_version_does_not_approve_it(requirement, verdict, code):
    involved = Involved(edited_by=frozenset({ALICE}))
    barred = may_vote(requirement, member_id=ALICE, verdict=verdict, version=2, involved=involved)
    assert (barred and barred.code) == code


@pytest.mark.parametrize(
    ("requirement", "verdict", "version", "allowed"),
    [
        (NO_EDIT, "edit", 1, False),
        (NO_EDIT, "respond", 1, False),
        (NO_EDIT, "approve", 1, True),
        (ANSWER, "approve", 1, False),
        (ANSWER, "reject", 1, True),
        (ONLY_EDIT, "approve", 1, False),
        (ONLY_EDIT, "approve", 2, True),
    ],
)
def test_only_allowed_decisions_are_taken(requirement, verdict, version, allowed):
    barred = may_vote(requirement, member_id=BOB, verdict=verdict, version=version, involved=Involved())
    assert (barred is None) is allowed
    assert barred is None or barred.code == "decision_not_allowed"


said = st.lists(
    st.builds(
        Vote,
        member_id=st.sampled_from([ALICE, BOB, CAROL]),
        verdict=st.sampled_from(["approve", "edit", "reject", "respond"]),
        version=st.integers(1, 3),
        at=st.integers(0, 9).map(lambda minute: START + timedelta(minutes=minute)),
        voided=st.booleans(),
    ),
    max_size=8,
)
requirements = st.fixed_dictionaries(
    {
        "team": st.just("T"),
        "approvals": st.integers(1, 3),
        "deny_threshold": st.integers(1, 3),
        "four_eyes": st.booleans(),
        "allowed_decisions": st.sampled_from([("approve",), ("approve", "edit"), ("respond",), ("reject",)]),
    }
).map(lambda fields: Requirement(**fields))


@given(requirements, said, st.integers(1, 3))
def test_nothing_passes_without_enough_living_votes_for_that_version(requirement, cast, version):
    resolution = resolve(requirement, cast, version=version)
    if resolution is None:
        return
    alive = {vote.member_id for vote in cast if vote.version == version and not vote.voided}
    assert set(resolution.counted) <= alive
    assert len(set(resolution.counted)) == len(resolution.counted)
    if resolution.type in ("approve", "edit"):
        assert len(resolution.counted) == requirement.approvals
        assert (resolution.type == "edit") == (version != 1)
