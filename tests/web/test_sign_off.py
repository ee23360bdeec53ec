"""Sign-off by several teams on the pages: written, followed, answered, and lent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta

from django.test import Client

from reviewhub.accounts.models import Delegation, Member
from reviewhub.core.clock import now
from reviewhub.policies.models import PolicyVersion
from reviewhub.reviews.models import ReviewRequest
from tests.cast import PASSWORD, Cast, member
from tests.driver import PersonHttp, agent_of, call, policy
from tests.web.test_pages import rule_fields
from tests.web.test_policy import EDIT, get, send

As = Callable[[Member], Client]
RULE = {
    "name": "Wires", "tool": "wire", "action": "require", "deadline_seconds": 7200, "on_timeout": "deny",
    "deny_threshold": 1, "remind_seconds": 900, "locked_fields": ["order", "customer.iban"], "sign_in_minutes": 5,
    "typed_confirmation": True,
    "stages": [
        {"team": "Support", "approvals": 2}, {"approvals": 1}, {"approvals": 1, "team": "Finance", "together": True},
    ],
    "escalation": [{"after_seconds": 1800, "team": "Finance"}, {"after_seconds": 3600, "managers": True}],
}  # fmt: skip


def test_every_part_of_a_requirement_comes_back_from_the_editor(cast: Cast, as_: As) -> None:
    policy(cast.support, RULE)
    client = as_(cast.alice)
    page = get(client, EDIT)
    send(client, page, "publish", note="the same")
    stored = json.loads(PolicyVersion.objects.get(number=2).rules)
    assert stored == {"rules": [RULE]}
    shown = get(client, "/northwind/policy")
    for said in ("reminder after", "also <bdi>the managers</bdi>", "a word typed", "customer.iban"):
        assert said in shown
    for field, value, told in (
        ("r0-s0-approvals", "x", "Rule 1 (Wires), stage 2 approvals: Write a whole number."),
        ("r0-e1-after", "soon", "Rule 1 (Wires), step 2 after: Write a time"),
        ("r0-e0-after", "2 h", "before the deadline"),
        ("r0-s0-team", "team:Nobody", "Rule 1 (Wires), stage 2 team: There is no team"),
        ("r0-locked", "a..b", "Rule 1 (Wires), locked field 1: "),
    ):
        assert told in send(client, page, "publish", note="n", **{field: value}), field
    assert rule_fields(page)["r0-s2-team"] == ""
    assert PolicyVersion.objects.count() == 2


def test_the_page_says_whose_turn_it_is_and_why_one_may_not(cast: Cast, as_: As) -> None:
    policy(cast.support, {**RULE, "sign_in_minutes": None, "typed_confirmation": False} | {"four_eyes": True})
    agent = agent_of(cast.support)
    agent.pause(agent.run()["id"], call("wire", effect="idempotent")).ok(201)
    row = ReviewRequest.objects.get()
    here = f"/northwind/requests/{row.number}"
    dave, bob = as_(cast.dave), as_(cast.bob)
    page = get(dave, here)
    assert "still has to approve" in page and "comes after the one before" in page
    assert "Support has to approve before you are asked." in page.replace("<bdi>", "").replace("</bdi>", "")
    assert 'type="submit">Approve' not in page
    assert "Reject and send feedback" in get(dave, f"{here}?mode=reject")
    form = {"type": "approve", "version": "1", "digest": row.digest, "key": "k"}
    assert bob.post(f"{here}/decide", form, follow=True).status_code == 200
    assert "1 of 4" in get(bob, here)
    row.run.started_by = cast.bob
    row.run.save()
    assert "you started this run" in get(bob, f"{here}?mode=respond")
    assert "<small><bdi>Support</bdi></small>" in get(bob, "/northwind/queue")
    PersonHttp(cast.dave).post(
        f"/requests/{row.pk}/decide",
        {"type": "reject", "version": 1, "digest": row.digest, "message": "Not to this account."},
    ).ok()
    closed = get(dave, here)
    assert "still has to approve" not in closed and "was not complete when it was closed" in closed


def test_the_form_comes_by_itself_when_ones_turn_comes(cast: Cast, as_: As) -> None:
    stages = [{"team": "Support"}, {"team": "Finance"}]
    policy(cast.support, RULE | {"stages": stages, "sign_in_minutes": None, "locked_fields": ["order"]})
    agent = agent_of(cast.support)
    agent.pause(agent.run()["id"], call("wire", effect="idempotent", arguments={"order": "7", "to": "x"})).ok(
        201
    )
    row, dave, bob = ReviewRequest.objects.get(), as_(cast.dave), as_(cast.bob)
    here = f"/northwind/requests/{row.number}"
    page = get(dave, here)
    shown = re.search(r'data-answer="([^"]*)"', page)[1]  # type: ignore[index]
    asks = f"{here}/live?version=1&open=1&mode=approve&answer="
    assert "would not be taken" in page
    assert 'id="answer"' not in get(dave, asks + shown), "nothing has changed"
    kept = get(dave, f"{here}?mode=edit").split('id="edit-form"')[1].split("</main>")[0]
    assert 'name="f:/order"' not in kept and "Locked by the rule" in kept and 'name="f:/to"' in kept
    form = {"type": "approve", "version": "1", "digest": row.digest, "key": "k", "sure": row.digest}
    word = PersonHttp(cast.bob).get(f"/requests/{row.pk}").ok()["confirm_with"]
    assert bob.post(f"{here}/decide", form | {"confirm": word}).status_code == 302
    told = get(dave, asks + shown)
    assert 'id="answer"' in told and "would not be taken" not in told and 'type="submit">Approve' in told
    assert "autofocus" not in told
    assert 'id="answer"' not in get(dave, asks + re.search(r'data-answer="([^"]*)"', told)[1])  # type: ignore[index]
    assert "You are asked now" in get(dave, f"{here}/live?reads=1")


def test_the_password_is_given_on_the_page_and_then_the_word(cast: Cast, as_: As) -> None:
    policy(cast.support, {**RULE, "stages": [{"team": "Support"}]})
    agent = agent_of(cast.support)
    agent.pause(agent.run()["id"], call("wire", effect="idempotent")).ok(201)
    row, bob = ReviewRequest.objects.get(), as_(cast.bob)
    here = f"/northwind/requests/{row.number}"
    assert 'name="password"' in get(bob, here)
    form = {"type": "approve", "version": "1", "digest": row.digest, "key": "k"}
    for password, told in (("", "needs your password"), ("wrong", "password is wrong")):
        refused = bob.post(f"{here}/decide", form | {"password": password})
        assert refused.status_code == 403 and told in refused.content.decode()
    asked = bob.post(f"{here}/decide", form | {"password": PASSWORD})
    assert asked.status_code == 200 and "its rule says so" in asked.content.decode()
    assert PASSWORD not in asked.content.decode()
    sure = form | {"sure": row.digest}
    assert bob.post(f"{here}/decide", sure | {"confirm": "no"}).status_code == 200
    word = PersonHttp(cast.bob).get(f"/requests/{row.pk}").ok()["confirm_with"]
    assert bob.post(f"{here}/decide", sure | {"confirm": word}).status_code == 302
    row.refresh_from_db()
    assert row.state == "approved"


def test_votes_are_lent_and_taken_back_on_a_page(cast: Cast, as_: As) -> None:
    bob, dave = as_(cast.bob), as_(cast.dave)
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    at = now()
    times = {
        "starts_at": at.strftime("%Y-%m-%dT%H:%M"),
        "ends_at": (at + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M"),
    }
    lend, end = "/northwind/stand-ins/lend", "/northwind/stand-ins/end"
    for bad in (
        {"to": "x"},
        {"to": str(cast.mallory.pk)},
        {"to": str(cast.carol.pk)},
        {"ends_at": "tomorrow"},
        {"starts_at": (at - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")},
    ):
        assert bob.post(lend, {"to": str(cast.dave.pk), **times, **bad}).status_code == 422, bad
    assert bob.post(lend, {"to": str(cast.dave.pk), **times}).status_code == 302
    assert bob.post(lend, {"to": str(erin.pk), **times}).status_code == 422
    assert "You vote now in the place of <b><bdi>Bob</bdi></b>" in get(dave, "/northwind/stand-ins")
    made = Delegation.objects.get()
    assert dave.post(end, {"delegation": str(made.pk)}).status_code == 404
    assert bob.post(end, {"delegation": str(made.pk)}).status_code == 302
    assert "You vote now" not in get(dave, "/northwind/stand-ins")
