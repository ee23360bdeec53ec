"""Sign-off of several teams as people and agents meet it: turns, four eyes, escalation, stand-ins, passwords."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from reviewhub.accounts.delegate import delegate
from reviewhub.accounts.models import Agent, Delegation, Member, Role
from reviewhub.accounts.take_back import take_back
from reviewhub.audit.models import Event
from reviewhub.audit.testing import unguarded
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.deliveries.models import Email
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.rename_team import rename_team
from reviewhub.reviews.foresee import foresee
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.tasks import escalate_due, expire_due, remind_due
from reviewhub.runs.models import Child, Run
from tests.cast import PASSWORD, Cast, add_key, member
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db

THEN = {
    "name": "Wires",
    "tool": "wire",
    "action": "require",
    "stages": [{"team": "Support", "approvals": 2}, {"team": "Finance"}],
}


def waiting(cast: Cast, **rule: Any) -> tuple[AgentHttp, Any]:
    """A call that waits for two of Support, then one of Finance, unless `rule` says otherwise."""
    policy(cast.support, {**THEN, **rule})
    agent = agent_of(cast.support)
    return agent, agent.pause(agent.run()["id"], call("wire")).ok(201)["tool_calls"][0]


def erin(cast: Cast, *teams: Any, name: str = "erin", role: str = Role.REVIEWER) -> Member:
    return member(name, workspace=cast.workspace, role=role, teams=teams)


def said(*kinds: str) -> list[str]:
    rows = Event.objects.filter(kind__in=kinds).select_related("payload").order_by("id")
    return [row.payload.sentence for row in rows]


def mailed() -> list[str]:
    return sorted(Email.objects.values_list("to", flat=True))


def by(who: Member) -> Actor:
    return Actor(kind="person", id=who.pk, name=who.person.name, source="page")


def test_each_team_is_asked_in_its_turn(cast: Cast) -> None:
    second = erin(cast, cast.support)
    agent, one = waiting(cast)
    bob, dave = PersonHttp(cast.bob), PersonHttp(cast.dave)
    assert mailed() == ["bob@example.com", "erin@example.com"]
    early = dave.decide(one, "approve")
    assert (early.status, early.json["reason"]) == (403, "not_yet")
    assert bob.decide(one, "approve").ok()["needed"] == 2
    shown = dave.get(f"/requests/{one['request']['id']}").ok()
    assert (shown["waits_for"], shown["approvals_needed"]) == ("Support", 3)
    assert [(stage["approved_by"], stage["asked"]) for stage in shown["requirement"]["stages"]] == [
        (["Bob"], True), ([], False),
    ]  # fmt: skip
    assert PersonHttp(second).decide(one, "approve").ok()["state"] == "pending"
    assert mailed() == ["bob@example.com", "dave@example.com", "erin@example.com"]
    number = one["request"]["number"]
    assert said("request.turn") == [f"#{number} was put to Finance: whoever was asked before has approved"]
    assert dave.decide(one, "approve").ok()["state"] == "approved"
    told = agent.get(f"/tool-calls/{one['id']}").ok()
    assert [(vote["name"], vote["for_teams"]) for vote in told["votes"]] == [
        ("Bob", "Support"), ("Erin", "Support"), ("Dave", "Finance"),
    ]  # fmt: skip


def test_a_team_that_comes_later_may_reject_at_once(cast: Cast) -> None:
    _, one = waiting(cast)
    assert PersonHttp(cast.dave).decide(one, "reject", message="Not now.").ok()["state"] == "rejected"


def test_two_guardrails_that_ask_different_teams_ask_both(cast: Cast) -> None:
    asks = [{"name": team, "tool": "*", "action": "require", "team": team} for team in ("Support", "Finance")]
    PolicyVersion.objects.create(
        workspace=cast.workspace,
        number=1,
        rules=json.dumps({"guardrails": asks, "rules": []}),
        author_name="test",
    )
    agent = agent_of(cast.support)
    one = agent.pause(agent.run()["id"], call("wire")).ok(201)["tool_calls"][0]
    assert mailed() == ["bob@example.com", "dave@example.com"]
    assert PersonHttp(cast.dave).decide(one, "approve").ok()["needed"] == 1
    assert PersonHttp(cast.bob).decide(one, "approve").ok()["state"] == "approved"


@pytest.mark.parametrize(
    "hand",
    ["started", "owns", "made the key", "made another key", "acts for", "acts for, in odd letters", "edited"],
)
def test_four_eyes_is_403_on_every_path(cast: Cast, hand: str) -> None:
    agent, one = waiting(cast, stages=[{"team": "Support"}], four_eyes=True)
    row, bob = ReviewRequest.objects.select_related("run__key").get(), PersonHttp(cast.bob)
    if hand == "started":
        Run.objects.filter(pk=row.run_id).update(started_by=cast.bob)
    elif hand == "owns":
        Agent.objects.update(owner=cast.bob)
    elif hand == "made the key":
        assert row.run.key is not None
        type(row.run.key).objects.update(made_by=cast.bob)
    elif hand == "acts for":
        Run.objects.filter(pk=row.run_id).update(on_behalf_of="Bob@Example.com")
    elif hand == "acts for, in odd letters":
        odd = " Alice (for) <\uff22ob\u200b@example\uff0ecom> "
        Run.objects.filter(pk=row.run_id).update(on_behalf_of=odd)
    elif hand == "made another key":
        # Revoked after the run began: it may have sent the call.
        key, _ = add_key(row.agent)
        type(key).objects.filter(pk=key.pk).update(made_by=cast.bob, revoked_at=now())
    else:
        done = bob.decide(one, "edit", changes=[{"op": "set", "path": "/amount", "value": "9.00"}]).ok()
        assert (done["counted"], done["state"]) == (False, "pending")
        row.refresh_from_db()
    shown = {"version": row.version, "digest": row.digest}
    api = bob.decide(one | shown, "approve")
    assert (api.status, api.json["reason"]) == (403, "four_eyes")
    bulk = {"request": str(row.pk), "type": "approve", **shown}
    (result,) = bob.post("/requests/decide", {"decisions": [bulk]}).json["results"]
    assert result["status"] == 403
    here = f"/northwind/requests/{row.number}"
    form = {"type": "approve", "key": "k", "sure": row.digest, **shown}
    assert bob.client.post(f"{here}/decide", form).status_code == 403
    pick = {"pick": f"{row.number}:{row.version}:{row.digest}", "type": "approve", "key": "k"}
    ReviewRequest.objects.update(risk="low", risk_rank=0)
    together = bob.client.post("/northwind/queue/bulk/send", pick)
    assert together.status_code == 409 and b"Somebody else has to decide this" in together.content
    assert agent.post(f"/requests/{row.pk}/decide", {"type": "approve", **shown}).status in (401, 403)
    assert ReviewRequest.objects.get().state == "pending"
    # A key that was revoked before the run began has sent nothing of it.
    other, (old, _) = erin(cast, cast.support), add_key(row.agent)
    before = row.run.created_at - timedelta(days=1)
    type(old).objects.filter(pk=old.pk).update(made_by=other, revoked_at=before)
    assert PersonHttp(other).decide(one | shown, "approve").ok()["counted"]


def test_the_ladder_adds_people_and_takes_nothing_from_anybody(cast: Cast) -> None:
    ladder = [{"after_seconds": 60, "team": "Finance"}, {"after_seconds": 120, "managers": True}]
    _, one = waiting(
        cast, stages=[{"team": "Support", "approvals": 2}], escalation=ladder, deadline_seconds=600
    )
    carol, dave = PersonHttp(cast.carol), PersonHttp(cast.dave)
    assert escalate_due() == 0
    assert dave.decide(one, "approve").status == 404
    for step, waited in enumerate((61, 61), start=1):
        ReviewRequest.objects.update(escalate_at=F("escalate_at") - timedelta(seconds=waited))
        assert (escalate_due(), escalate_due()) == (1, 0)
        assert ReviewRequest.objects.get().escalated == step
        assert carol.decide(one, "approve").status == 403 if step == 1 else True
    assert mailed() == ["bob@example.com", "carol@example.com", "dave@example.com"]
    number = one["request"]["number"]
    assert said("request.escalated") == [
        f"#{number} was escalated to Finance: no answer from Support in time",
        f"#{number} was escalated to the managers: no answer from Support in time",
    ]
    assert dave.decide(one, "approve").ok()["needed"] == 1
    assert carol.decide(one, "approve").ok()["state"] == "approved"


def test_whoever_was_asked_first_may_still_vote_after_an_escalation(cast: Cast) -> None:
    _, one = waiting(cast, stages=[{"team": "Support"}], escalation=[{"after_seconds": 60, "managers": True}])
    ReviewRequest.objects.update(escalate_at=now())
    assert escalate_due() == 1
    assert PersonHttp(cast.bob).decide(one, "approve").ok()["state"] == "approved"


def test_the_sweeps_remind_once_and_leave_what_is_over(cast: Cast) -> None:
    second = erin(cast, cast.support)
    _, one = waiting(
        cast, remind_seconds=60, deadline_seconds=600, escalation=[{"after_seconds": 90, "managers": True}]
    )
    PersonHttp(cast.bob).decide(one, "approve").ok()
    assert remind_due() == 0
    ReviewRequest.objects.update(remind_at=now())
    assert (remind_due(), remind_due()) == (1, 0)
    assert mailed() == ["bob@example.com", second.person.email, second.person.email]
    assert said("request.reminded") == [f"1 people of Support were reminded of #{one['request']['number']}"]
    ReviewRequest.objects.update(remind_at=now(), escalate_at=now(), deadline_at=now())
    assert (remind_due(), escalate_due(), expire_due()) == (0, 0, 1)


def test_a_stand_in_votes_in_the_place_of_another_while_it_lasts(cast: Cast) -> None:
    _, one = waiting(cast, stages=[{"team": "Support", "approvals": 2}])
    dave, at = PersonHttp(cast.dave), now()
    assert dave.decide(one, "approve").status == 404
    for to, start, end in (
        (cast.bob, 0, 1), (cast.carol, 0, 1), (cast.dave, 1, 1), (cast.dave, -2, -1), (cast.dave, -0.01, 1),
        (cast.dave, 0, 400),
    ):  # fmt: skip
        times = {"starts_at": at + timedelta(days=start), "ends_at": at + timedelta(days=end)}
        with pytest.raises(Invalid):
            delegate(member=cast.bob, to=to, actor=by(cast.bob), **times)
    times = {"starts_at": at - timedelta(minutes=2), "ends_at": at + timedelta(days=1)}
    with pytest.raises(NotFound):
        delegate(member=cast.bob, to=cast.mallory, actor=by(cast.bob), **times)
    made = delegate(member=cast.bob, to=cast.dave, actor=by(cast.bob), **times)
    assert made.starts_at >= at, "nobody votes in the place of another before it was said"
    with pytest.raises(Invalid):
        delegate(member=cast.bob, to=erin(cast, cast.finance), actor=by(cast.bob), **times)
    assert dave.decide(one, "approve").ok()["needed"] == 1
    shown = dave.get(f"/requests/{one['request']['id']}").ok()
    assert [(vote["name"], vote["in_place_of"]) for vote in shown["votes"]] == [("Dave", "Bob")]
    (told,) = said("request.voted")
    assert told.startswith(f"Dave voted to approve #{shown['number']} in the place of Bob: ")
    counted = PersonHttp(cast.bob).decide(one, "approve").ok()
    assert (counted["state"], counted["needed"]) == ("pending", 1)  # one place, whoever of the two fills it
    with pytest.raises(NotFound):
        take_back(delegation_id=made.pk, member=cast.dave, actor=by(cast.dave))
    take_back(delegation_id=made.pk, member=cast.bob, actor=by(cast.bob))
    assert dave.decide(one, "reject", message="Not now.").status == 404
    assert len(said("votes.delegated")) == len(said("votes.taken_back")) == 1
    Delegation.objects.update(ended_at=None)
    Member.objects.filter(pk=cast.bob.pk).update(is_active=False)
    assert dave.get(f"/requests/{one['request']['id']}").status == 404


def test_the_agent_is_told_what_each_of_them_said(cast: Cast) -> None:
    agent, one = waiting(cast, stages=[{"team": "Support"}, {"team": "Finance"}])
    PersonHttp(cast.bob).decide(one, "approve", message="To the old account.").ok()
    PersonHttp(cast.dave).decide(one, "approve", message="Before noon.").ok()
    (call_,) = agent.get(f"/pauses/{ReviewRequest.objects.get().tool_call.pause_id}").ok()["tool_calls"]
    assert call_["decision"]["message"] == "Bob: To the old account.\nDave: Before noon."


@pytest.mark.parametrize(
    ("first", "last", "told"), [("Go.", "", "Bob: Go."), ("", "Go.", "Go."), ("", "", "")]
)
def test_whose_words_they_are_is_told_where_another_decided(
    cast: Cast, first: str, last: str, told: str
) -> None:
    _, one = waiting(cast, stages=[{"team": "Support"}, {"team": "Finance"}])
    PersonHttp(cast.bob).decide(one, "approve", message=first).ok()
    assert PersonHttp(cast.dave).decide(one, "approve", message=last).ok()["decision"]["message"] == told


@pytest.mark.parametrize("verb", ["fork", "rewrite"])
def test_who_changed_the_state_has_a_hand_in_what_comes_of_it(cast: Cast, verb: str) -> None:
    """Bob forks or rewrites, the agent forks once more from there and proposes: Bob does not sign it, Erin may."""
    policy(cast.support, {**THEN, "stages": [{"team": "Support"}], "four_eyes": True})
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    run = agent.run()["id"]
    first = agent.post(f"/runs/{run}/checkpoints", {"state": {"amount": 10}}).ok(201)
    body = {"changes": [{"op": "set", "path": "/amount", "value": 5000}], "reason": "Really."}
    made = bob.post(f"/checkpoints/{first['id']}/{verb}", body).ok(201)
    agent.post(f"/checkpoints/{made['checkpoint']}/fork", {"branch": "on", "reason": "try"}).ok(201)
    one = agent.pause(run, call("wire"), branch="on").ok(201)["tool_calls"][0]
    refused = bob.decide(one, "approve")
    assert (refused.status, refused.json["reason"]) == (403, "four_eyes")
    assert PersonHttp(erin(cast, cast.support)).decide(one, "approve").ok()["state"] == "approved"


def test_who_changed_another_branch_has_no_hand_in_this_one(cast: Cast) -> None:
    policy(cast.support, {**THEN, "stages": [{"team": "Support"}], "four_eyes": True})
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    run = agent.run()["id"]
    first = agent.post(f"/runs/{run}/checkpoints", {"state": {"amount": 10}}).ok(201)
    bob.post(f"/checkpoints/{first['id']}/fork", {"branch": "side", "reason": "try"}).ok(201)
    one = agent.pause(run, call("wire")).ok(201)["tool_calls"][0]
    assert bob.decide(one, "approve").ok()["state"] == "approved"


def test_who_changed_the_parent_has_a_hand_in_its_children(cast: Cast) -> None:
    agent, one = waiting(cast, stages=[{"team": "Support"}], four_eyes=True)
    row, parent = ReviewRequest.objects.select_related("branch").get(), agent.run()["id"]
    first = agent.post(f"/runs/{parent}/checkpoints", {"state": {"amount": 10}}).ok(201)
    made = PersonHttp(cast.bob).post(
        f"/checkpoints/{first['id']}/rewrite", {"changes": [], "reason": "Anew."}
    )
    Child.objects.create(
        workspace=cast.workspace,
        parent_branch_id=made.ok(201)["branch"]["id"],
        key="part",
        graph="part",
        digest="sha256:0",
        branch=row.branch,
        born_after=1,
    )
    refused = PersonHttp(cast.bob).decide(one, "approve")
    assert (refused.status, refused.json["reason"]) == (403, "four_eyes")


def test_a_password_is_asked_for_once_more(cast: Cast) -> None:
    _, one = waiting(cast, stages=[{"team": "Support"}], sign_in_minutes=5)
    bob = PersonHttp(cast.bob)
    refused = bob.decide(one, "approve")
    assert (refused.status, refused.code, refused.json["minutes"]) == (403, "sign_in_again", 5)
    bob.client.post("/signin", {"email": "bob@example.com", "password": PASSWORD})
    session = bob.client.session
    shown = session["signed_in_at"]
    session["signed_in_at"] = (now() - timedelta(minutes=5, seconds=1)).isoformat()
    session.save()
    assert bob.decide(one, "approve").code == "sign_in_again"
    session["signed_in_at"] = shown
    session.save()
    assert bob.decide(one, "approve").ok()["state"] == "approved"


def test_a_word_is_typed_and_locked_fields_stay(cast: Cast) -> None:
    _, one = waiting(cast, stages=[{"team": "Support"}], typed_confirmation=True, locked_fields=["order"])
    bob = PersonHttp(cast.bob)
    word = bob.get(f"/requests/{one['request']['id']}").ok()["confirm_with"]
    for changes in ([{"op": "set", "path": "/order", "value": "1"}], [{"op": "remove", "path": "/order"}]):
        locked = bob.decide(one, "edit", changes=changes, confirm=word)
        assert (locked.status, locked.json["errors"][0]["code"]) == (422, "locked")
    for typed in ({}, {"confirm": "yes"}):
        refused = bob.decide(one, "approve", **typed)
        assert (refused.status, refused.json["errors"][0]["path"]) == (422, "/confirm")
    assert bob.decide(one, "approve", confirm=word).ok()["state"] == "approved"


BIG = {
    "name": "Big",
    "tool": "wire",
    "action": "require",
    "stages": [{"team": "Support"}],
    "when": [{"path": "amount", "test": "is_over", "value": 500}],
}
SMALL = {
    "name": "Small",
    "tool": "wire",
    "action": "require",
    "stages": [{"team": "Support", "approvals": 2}],
}


def wired(cast: Cast, *rules: dict[str, Any], **arguments: Any) -> Any:
    """A call under these rules that waits."""
    policy(cast.support, *rules)
    agent = agent_of(cast.support)
    proposed = {**call("wire"), "arguments": arguments}
    return agent.pause(agent.run()["id"], proposed).ok(201)["tool_calls"][0]


def to(**values: Any) -> list[dict[str, Any]]:
    return [{"op": "set", "path": f"/{name}", "value": value} for name, value in values.items()]


def edited(who: PersonHttp, one: Any, **values: Any) -> Any:
    """The call as it is shown after an edit."""
    who.decide(one, "edit", changes=to(**values)).ok()
    row = ReviewRequest.objects.get()
    return {**one, "version": row.version, "digest": row.digest}


@pytest.mark.parametrize("first", [900, 400])
def test_no_edit_leads_into_what_is_locked_there(cast: Cast, first: int) -> None:
    """Neither in one step from outside nor out of the lock and back in."""
    one = wired(cast, {**BIG, "locked_fields": ["account"]}, SMALL, amount=first, account="good")
    bob = PersonHttp(cast.bob)
    shown = edited(bob, one, amount=300)
    for changes in (to(amount=901, account="evil"), [*to(amount=901), {"op": "remove", "path": "/account"}]):
        refused = bob.decide(shown, "edit", changes=changes)
        assert (refused.status, refused.json["errors"][0]["code"]) == (422, "locked")
    # What is free here is locked there: the account of the proposal is what counts.
    moved = edited(bob, shown, account="other")
    refused = bob.decide(moved, "edit", changes=to(amount=902))
    assert (refused.status, refused.json["errors"][0]["code"]) == (422, "locked")
    assert edited(bob, moved, amount=902, account="good")["version"] == 4


def test_no_edit_leads_to_a_call_that_may_not_be_edited(cast: Cast) -> None:
    one = wired(cast, {**BIG, "allowed_decisions": ["approve", "reject"]}, SMALL, amount=400)
    refused = PersonHttp(cast.bob).decide(one, "edit", changes=to(amount=900))
    assert (refused.status, refused.json["errors"][0]["code"]) == (422, "locked")
    assert ReviewRequest.objects.get().version == 1


def test_whose_vote_does_not_run_it_reads_so_before(cast: Cast) -> None:
    """Two of Support have approved; a third may, and Finance is still needed."""
    others = [erin(cast, cast.support, name=name) for name in ("erin", "frank")]
    _, one = waiting(cast)
    for who in (cast.bob, others[0]):
        PersonHttp(who).decide(one, "approve").ok()
    row = ReviewRequest.objects.get()
    stored = Stored.model_validate_json(row.requirement)
    third, needed = (
        foresee(row, stored, others[1], verdict="approve"),
        foresee(row, stored, cast.dave, verdict="approve"),
    )
    assert (len(third.approvals), len(needed.approvals)) == (2, 3)
    assert PersonHttp(others[1]).decide(one, "approve").ok() | {"version": 1} == {
        "state": "pending", "counted": False, "needed": 1, "version": 1,
    }  # fmt: skip
    assert PersonHttp(cast.dave).decide(one, "approve").ok()["state"] == "approved"


def test_a_team_that_gets_another_name_keeps_its_stages(cast: Cast) -> None:
    rule = {**THEN, "escalation": [{"after_seconds": 60, "team": "Finance"}]}
    policy(cast.support, rule)
    cast.alice.teams.add(cast.support)
    rename_team(team=cast.finance, name="Treasury", actor=by(cast.alice))
    made = json.loads(PolicyVersion.objects.get(number=2).rules)["rules"][0]
    assert (made["stages"][1]["team"], made["escalation"][0]["team"]) == ("Treasury", "Treasury")


def test_a_requirement_of_before_is_read_and_its_votes_count(cast: Cast) -> None:
    """What was stored when one team was asked, and votes from before votes had stages."""
    cast.alice.teams.add(cast.support)
    _, one = waiting(cast, stages=[{"team": "Support", "approvals": 2}])
    PersonHttp(cast.bob).decide(one, "approve").ok()
    old = {
        "requirement": {
            "team": "Support", "approvals": 2, "deny_threshold": 1, "deadline_seconds": None, "on_timeout": "deny",
            "allowed_decisions": ["approve", "edit", "reject", "respond"], "four_eyes": False,
        },
        "teams": [str(cast.support.pk)], "policy_version": 1, "rule": "Wires", "text": "2 approvals from Support.",
    }  # fmt: skip
    ReviewRequest.objects.update(requirement=json.dumps(old), waits_for="")
    with unguarded():
        Review.objects.update(seats="", for_teams="")
    assert PersonHttp(cast.alice).get("/requests").status == 200
    assert PersonHttp(cast.alice).decide(one, "approve").ok()["state"] == "approved"
