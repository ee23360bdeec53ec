"""Several votes of one person: they count once, with what they said last, and the record says all of it."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.reviews.disable_member import disable_member
from reviewhub.reviews.models import Review, ReviewRequest
from tests.cast import ALICE, Cast
from tests.driver import PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db

TWO = {"name": "Two", "tool": "wire", "action": "require", "approvals": 2, "deny_threshold": 2}


def waiting(cast: Cast, **rule: Any) -> Any:
    """A call that waits for two approvals, or for two rejections."""
    policy(cast.support, {**TWO, **rule})
    cast.alice.teams.add(cast.support)
    agent = agent_of(cast.support)
    return agent.pause(agent.run()["id"], call("wire")).ok(201)["tool_calls"][0]


def standing(one: Any) -> list[tuple[str, str]]:
    """The votes on record, the oldest first: what was said, and why it is void."""
    rows = Review.objects.filter(request__tool_call=one["id"]).order_by("created_at")
    return list(rows.values_list("verdict", "voided_because"))


def voted() -> list[str]:
    return [
        event.payload.sentence
        for event in Event.objects.filter(kind="request.voted").select_related("payload").order_by("id")
    ]


def test_a_repeat_is_the_same_answer_and_no_second_vote(cast: Cast) -> None:
    one, bob = waiting(cast), PersonHttp(cast.bob)
    first = bob.decide(one, "approve", key="k").ok()
    assert bob.decide(one, "approve", key="k").ok() == first
    assert (first["counted"], first["needed"], first["state"]) == (True, 1, "pending")
    assert standing(one) == [("approve", "")]
    assert len(voted()) == 1


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_the_same_again_is_told_so_and_changes_nothing(cast: Cast, verdict: str) -> None:
    one, bob = waiting(cast), PersonHttp(cast.bob)
    bob.decide(one, verdict, message="because").ok()
    again = bob.decide(one, verdict, message="because", note="once more")
    assert (again.status, again.code) == (409, "already_voted")
    assert again.json["verdict"] == verdict
    assert standing(one) == [(verdict, "")]
    assert len(voted()) == 1
    assert ReviewRequest.objects.get().state == "pending"


def test_a_change_of_mind_counts_while_it_is_open(cast: Cast) -> None:
    one, bob = waiting(cast), PersonHttp(cast.bob)
    bob.decide(one, "approve").ok()
    changed = bob.decide(one, "reject", message="Not now.").ok()
    assert (changed["counted"], changed["needed"], changed["state"]) == (True, 2, "pending")
    assert ReviewRequest.objects.get().approvals == 0
    assert standing(one) == [("approve", "voted again"), ("reject", "")]
    back = bob.decide(one, "approve").ok()
    assert (back["counted"], back["needed"]) == (True, 1)
    number, does = one["request"]["number"], ReviewRequest.objects.get().plain_sentence
    assert voted() == [
        f"Bob voted to approve #{number}: {does}",
        f"Bob voted to reject #{number}, no longer to approve: {does}",
        f"Bob voted to approve #{number}, no longer to reject: {does}",
    ]
    assert PersonHttp(cast.alice).decide(one, "approve").ok()["state"] == "approved"
    assert bob.decide(one, "reject", message="too late").code == "already_decided"


def test_who_changed_the_call_has_approved_it(cast: Cast) -> None:
    one, bob = waiting(cast), PersonHttp(cast.bob)
    bob.decide(one, "approve").ok()
    change = [{"op": "set", "path": "/amount", "value": "7.50"}]
    edited = bob.decide(one, "edit", changes=change).ok()
    assert (edited["counted"], edited["needed"], edited["version"]) == (True, 1, 2)
    row = ReviewRequest.objects.get()
    now = {**one, "version": row.version, "digest": row.digest}
    assert bob.decide(now, "approve").code == "already_voted"
    assert bob.decide(now, "reject", message="Not now.").ok()["needed"] == 2


def test_four_eyes_who_changed_it_has_not_approved_it(cast: Cast) -> None:
    """Also when somebody else's vote is voided: the dots on the page are counted by the one rule."""
    one, bob, alice = waiting(cast, four_eyes=True), PersonHttp(cast.bob), PersonHttp(cast.alice)
    change = [{"op": "set", "path": "/amount", "value": "7.50"}]
    edited = alice.decide(one, "edit", changes=change).ok()
    assert (edited["counted"], edited["needed"]) == (False, 2)
    row = ReviewRequest.objects.get()
    bob.decide({**one, "version": row.version, "digest": row.digest}, "approve").ok()
    assert ReviewRequest.objects.get().approvals == 1
    disable_member(member=cast.bob, actor=ALICE)
    assert ReviewRequest.objects.get().approvals == 0
