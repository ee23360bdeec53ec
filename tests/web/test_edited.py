"""Who edited and who approved, which rule held what, and what an edit or a vote would come to: said as it is."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member, Role
from reviewhub.audit.models import Event
from reviewhub.reviews.models import ReviewRequest
from tests.cast import Cast, member
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy
from tests.web.test_policy import get

pytestmark = pytest.mark.django_db

As = Callable[[Member], Client]
TWO = {"action": "require", "tool": "refund", "stages": [{"team": "Support", "approvals": 2}]}
BIG = {**TWO, "name": "Big refunds", "when": [{"path": "amount", "test": "is_over", "value": 500}]}
MIDDLE = {**TWO, "name": "Middle refunds"}
TO_700 = [{"op": "set", "path": "/amount", "value": 700}]


def words(page: str) -> str:
    """A page without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def said(kind: str) -> str:
    row = Event.objects.filter(kind=kind).select_related("payload").order_by("-id")[0]
    return str(row.payload.sentence)


@pytest.fixture
def dora(cast: Cast) -> Member:
    return member("dora", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,))


@pytest.fixture
def frank(cast: Cast) -> Member:
    return member("frank", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,))


def paused(cast: Cast, *rules: dict[str, Any]) -> tuple[AgentHttp, Any, str]:
    """A refund of 300 that waits, and the address of its page."""
    policy(cast.support, *(rules or (BIG, MIDDLE)))
    agent = agent_of(cast.support)
    one = agent.pause(agent.run()["id"], call(arguments={"order": "8812", "amount": 300})).ok(201)
    asked = one["tool_calls"][0]
    return agent, asked, f"/northwind/requests/{asked['request']['number']}"


def edited(one: Any, who: Member) -> dict[str, Any]:
    """The call as it is after its edit to 700."""
    PersonHttp(who).decide(one, "edit", changes=TO_700).ok()
    row = ReviewRequest.objects.get(pk=one["request"]["id"])
    return {**one, "version": row.version, "digest": row.digest}


def test_who_edited_is_the_editor_and_who_voted_last_approved(
    cast: Cast, as_: As, dora: Member, frank: Member
) -> None:
    agent, one, here = paused(cast)
    PersonHttp(cast.bob).decide(one, "approve").ok()
    two = edited(one, dora)
    out = PersonHttp(frank).decide(two, "approve").ok()
    assert out["state"] == "edited"
    assert out["decision"]["by"]["name"] == "Frank" and out["decision"]["edited_by"] == "Dora"
    told = agent.get(f"/tool-calls/{one['id']}").ok()
    assert told["decision"]["edited_by"] == "Dora"
    text = told["model_text"]
    assert text.startswith(
        "The reviewer Dora changed the arguments of refund, and the reviewer Frank approved the changed call."
    )
    assert said("request.decided").startswith("Frank approved #1 as changed by Dora: ")
    shown = PersonHttp(frank).get(f"/requests/{one['request']['id']}").ok()
    assert (shown["edited_by"], shown["decided_by"]) == ("Dora", "Frank")
    client = as_(cast.bob)
    page = words(get(client, here))
    assert "Dora edited, Frank approved" in page and "Frank edited" not in page
    assert "Edited byDora" in page and "Approved byFrank" in page
    assert "approved Dora’s version 2" in page and "closed it: edited" not in page
    assert "Dora edited, Frank approved" in words(get(client, "/northwind/queue?state=any"))
    late = PersonHttp(cast.bob).decide(two, "reject", message="Too late for that.")
    assert late.status == 409 and late.json["edited_by"] == "Dora"
    assert "as changed by Dora" in late.json["detail"]
    receipt = agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"][0]
    facts = json.loads(base64.b64decode(receipt["envelope"]["payload"]))["predicate"]
    assert facts["by"]["name"] == "Frank"
    assert facts["edited_by"] == {"id": str(dora.pk), "name": "Dora", "version": 2}


def test_who_edited_alone_is_said_to_have_edited(cast: Cast, as_: As, dora: Member) -> None:
    agent, one, here = paused(cast, {**MIDDLE, "stages": [{"team": "Support"}]})
    PersonHttp(dora).decide(one, "edit", changes=TO_700).ok()
    told = agent.get(f"/tool-calls/{one['id']}").ok()
    assert told["model_text"].startswith(
        "The reviewer Dora changed the arguments of refund and approved the changed call."
    )
    assert said("request.decided").startswith("Dora approved #1 with changes: ")
    page = words(get(as_(cast.bob), here))
    assert "Dora edited" in page and "Dora edited, " not in page and "closed it: edited" in page


def test_what_was_said_of_the_rule_then_stays(cast: Cast, as_: As, dora: Member, frank: Member) -> None:
    _, one, here = paused(cast)
    PersonHttp(cast.bob).decide(one, "approve").ok()
    edited(one, dora)
    page = words(get(as_(frank), here))
    assert "paused by rule Middle refunds" in page and "paused by rule Big refunds" not in page
    assert ", version 2; by rule Big refunds now, no longer Middle refunds; the vote of Bob is void" in page
    event = said("request.changed")
    assert event.startswith("Dora changed the arguments of #1, now: ")
    assert event.endswith("; by rule Big refunds now, no longer Middle refunds; the vote of Bob is void")


def test_an_edit_under_the_same_rule_names_no_other(cast: Cast, as_: As, dora: Member, frank: Member) -> None:
    _, one, here = paused(cast, MIDDLE)
    edited(one, dora)
    assert "no longer" not in words(get(as_(frank), here)) and "no longer" not in said("request.changed")
    assert "void" not in said("request.changed")


def test_the_button_counts_what_the_vote_would_count(cast: Cast, as_: As, dora: Member) -> None:
    stages = [{"team": "Support"}, {"team": "Finance", "together": True}]
    _, one, here = paused(cast, {**MIDDLE, "stages": stages})
    assert "Approve, 1 of 2" in words(get(as_(cast.bob), here))
    PersonHttp(dora).decide(one, "approve").ok()
    page = words(get(as_(cast.bob), here))
    assert "Approve, 1 of 2" in page and "Approve, 2 of 2" not in page
    assert "Your approval would not bring it further" in page
    assert "Approve, 2 of 2" in words(get(as_(cast.dave), here))


def test_two_votes_that_count_once_are_not_two_ticks(cast: Cast, as_: As, dora: Member) -> None:
    stages = [{"team": "Support"}, {"team": "Finance", "together": True}]
    _, one, here = paused(cast, {**MIDDLE, "stages": stages})
    PersonHttp(dora).decide(one, "approve").ok()
    PersonHttp(cast.bob).decide(one, "approve").ok()
    page = get(as_(cast.dave), here)
    votes = page.split('class="votes"')[1].split("</ul>")[0]
    assert votes.count("Counts") == 1 and "counts no further: its place is taken" in words(votes)


def test_the_editor_is_told_which_rule_holds_it_then(cast: Cast, as_: As, dora: Member) -> None:
    big = {**BIG, "stages": [{"team": "Support"}, {"team": "Finance", "approvals": 2}]}
    _, one, here = paused(cast, big, {**MIDDLE, "typed_confirmation": True})
    row = ReviewRequest.objects.get()
    form = {
        "type": "edit",
        "version": "1",
        "digest": one["digest"],
        "key": "k",
        "f:/amount": "700",
        "w:/amount": "1",
    }
    for step in ({"preview": "1"}, {}):
        page = words(as_(dora).post(f"{here}/decide", form | step).content.decode())
        assert "Rule Big refunds holds it then, no longer Middle refunds." in page, step
        assert "Asked then: Support (1), Finance (2)." in page, step
    assert ReviewRequest.objects.get().version == row.version


def test_why_it_is_held_after_a_standing_approval_was_revoked(cast: Cast, as_: As) -> None:
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "require"})
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    agent.put("/tools/refund", {"effect": "once", "schema": {"type": "object"}}).ok()

    def propose() -> Any:
        asked = agent.pause(agent.run()["id"], call(arguments={"order": "8812", "amount": 300})).ok(201)
        return asked["tool_calls"][0]

    kept = bob.decide(propose(), "approve", remember={"bounds": "exact"}).ok()["standing"]
    one = propose()
    assert one["because"]["kind"] == "standing"
    bob.post(f"/standing-approvals/{kept}/revoke", {"reason": "no more"}).ok()
    assert agent.consume(one).status == 409
    told = agent.get(f"/tool-calls/{one['id']}").ok()
    assert told["state"] == "waiting"
    reason = "Standing approval #1 was revoked by Bob: no more"
    assert told["because"]["kind"] == "rule" and told["because"]["rule"] == "Refunds"
    assert reason in told["because"]["text"] and "calls like" not in told["because"]["text"]
    page = words(get(as_(cast.bob), "/northwind/requests/2/policy"))
    assert reason in page and "require" in page and "calls like" not in page
    assert "Call refund" in said("request.opened") and reason in said("call.asked_again")
    run = words(get(as_(cast.bob), f"/northwind/runs/{ReviewRequest.objects.get(number=2).run_id}"))
    assert "Bob approved calls like" not in run


def test_why_it_is_held_after_an_edit_is_about_the_edited_version(cast: Cast, as_: As, dora: Member) -> None:
    agent, one, here = paused(cast)
    edited(one, dora)
    page = words(get(as_(cast.bob), f"{here}/policy"))
    assert "By the arguments of version 2" in page
    assert "Big refunds" in page
    assert agent.get(f"/tool-calls/{one['id']}").ok()["because"]["rule"] == "Big refunds"


def test_a_refusal_of_edited_json_is_said_once(cast: Cast, as_: As) -> None:
    _, one, here = paused(cast, {**MIDDLE, "locked_fields": ["amount"]})
    raw = json.dumps({"order": "8812", "amount": 700})
    form = {"type": "edit", "version": "1", "digest": one["digest"], "key": "k", "raw": raw}
    page = words(as_(cast.bob).post(f"{here}/decide", form).content.decode())
    assert page.count("amount is locked") == 1 and "/changes" not in page


def test_what_became_of_the_call_is_found_with_its_request(cast: Cast, as_: As) -> None:
    agent, one, _ = paused(cast, {**MIDDLE, "stages": [{"team": "Support"}]})
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    agent.outcome(one, result={"ok": True}).ok()
    client = as_(cast.alice)
    for asked in ("q=%231", f"request={one['request']['id']}"):
        page = words(get(client, f"/northwind/audit?{asked}"))
        assert "started refund for #1" in page and "refund for #1 ended: succeeded" in page, asked
    # Not by the feed: on PostgreSQL it ends before what the test's own transaction has written.
    found = Event.objects.filter(request_id=one["request"]["id"]).values_list("kind", flat=True)
    assert {"call.started", "call.ended"} <= set(found)
