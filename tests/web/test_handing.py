"""What a reviewer does with a request instead of deciding it, and the reasons that admins preset; through HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape

from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from reviewhub.deliveries.models import Email
from reviewhub.reviews.models import Comment, RejectReason, Review, ReviewRequest, Snooze
from reviewhub.toolcalls.models import Decision
from tests.cast import Cast, member
from tests.driver import PersonHttp, agent_of, call, policy
from tests.web.make import waiting
from tests.web.test_review import form_of, get, path_of, send

As = Callable[[Member], Client]


def erin_of(cast: Cast) -> Member:
    return member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))


def events(kind: str) -> int:
    return Event.objects.filter(kind=kind).count()


def test_a_vote_is_taken_back_while_the_request_is_open(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, approvals=2, template="Refund ${amount:money}")
    bob, erin = as_(cast.bob), as_(erin_of(cast))
    back = path_of(row, "/withdraw-vote")
    assert "Take back my vote" not in get(bob, row)
    assert bob.post(back).status_code == 409
    send(bob, row, "approve")
    assert "You have approved this" in get(bob, row) and "Take back my vote" in get(bob, row)
    assert "Take back my vote" not in get(erin, row) and erin.post(back).status_code == 409
    told = bob.post(back, follow=True).content.decode()
    assert "Your vote is taken back: Refund $1,240.00." in unescape(told)
    assert "0/2" in told and 'type="submit">Approve' in told
    assert (Review.objects.get().voided_because, events("vote.withdrawn")) == ("taken back", 1)
    send(erin, row, "approve")
    row.refresh_from_db()
    assert (row.state, row.approvals) == ("pending", 1)
    send(bob, row, "approve")
    row.refresh_from_db()
    assert row.state == "approved"
    assert PersonHttp(cast.bob).post(f"/requests/{row.pk}/withdraw-vote").status == 409


def test_a_request_is_handed_over_to_whoever_may_decide_it(cast: Cast, as_: As) -> None:
    row, erin = waiting(cast.support, template="Refund ${amount:money}"), erin_of(cast)
    bob, here = as_(cast.bob), path_of(row, "/hand-over")
    offered = set(
        re.findall(r'<option value="([^"]+)"', get(bob, row).split('id="ho-to"')[1].split("</select>")[0])
    )
    assert offered == {str(erin.pk)}
    for to in ("", "x", str(cast.dave.pk), str(cast.bob.pk), str(cast.mallory.pk)):
        refused = bob.post(here, {"to": to, "note": "Look at the photo"})
        assert refused.status_code == 422 and "Look at the photo" in refused.content.decode(), to
    told = bob.post(here, {"to": str(erin.pk), "note": "Look at the photo"}, follow=True).content.decode()
    assert "Handed over to Erin: Refund $1,240.00." in unescape(told)
    row.refresh_from_db()
    assert (row.claimed_by, Comment.objects.get().text) == (erin, "Look at the photo")
    assert Email.objects.get().to == "erin@example.com"
    assert events("request.handed_over") == 1
    assert bob.post(here, {"to": str(erin.pk)}).status_code == 409, "it is Erin's now"
    assert as_(erin).post(here, {"to": str(cast.bob.pk)}).status_code == 302


def test_nobody_gets_what_four_eyes_keep_from_them(cast: Cast, as_: As) -> None:
    row, erin = waiting(cast.support), erin_of(cast)
    row.requirement = row.requirement.replace('"four_eyes": false', '"four_eyes": true')
    row.save()
    row.run.started_by = erin
    row.run.save()
    refused = as_(cast.bob).post(path_of(row, "/hand-over"), {"to": str(erin.pk)})
    assert refused.status_code == 422
    assert "Erin has a hand in this call" in unescape(refused.content.decode())


def test_what_is_put_off_is_out_of_ones_own_queue_until_it_changes(cast: Cast, as_: As) -> None:
    row, bob, erin = waiting(cast.support, seconds=7200), as_(cast.bob), as_(erin_of(cast))

    def seen(client: Client, rest: str = "") -> bool:
        return f'id="rq-{row.number}"' in client.get(f"/northwind/queue{rest}").content.decode()

    page = get(bob, row)
    assert re.findall(r'<option value="(\d+)"', page.split('id="sn-m"')[1].split("</select>")[0]) == [
        "15",
        "60",
    ]
    for minutes in ("", "7", "180", "-15"):
        assert bob.post(path_of(row, "/snooze"), {"minutes": minutes}).status_code == 422, minutes
    assert bob.post(path_of(row, "/snooze"), {"minutes": "60"}).status_code == 302
    assert (seen(bob), seen(erin)) == (False, True)
    assert seen(bob, "?snoozed=1") and seen(bob, f"?q={row.number}") and seen(bob, "?state=any")
    assert not seen(erin, "?snoozed=1")
    ReviewRequest.objects.filter(pk=row.pk).update(version=2)
    assert seen(bob), "another version is another question"
    ReviewRequest.objects.filter(pk=row.pk).update(version=1)
    Snooze.objects.update(until=now() - timedelta(seconds=1))
    assert seen(bob)
    Snooze.objects.update(until=now() + timedelta(hours=1))
    assert bob.post(path_of(row, "/snooze"), {"minutes": "0"}).status_code == 302
    assert seen(bob) and (events("request.snoozed"), events("request.unsnoozed")) == (1, 1)


def test_a_preset_reason_is_what_the_agent_is_told(cast: Cast, as_: As) -> None:
    alice, bob = as_(cast.alice), as_(cast.bob)
    given = {
        "name": ["Wrong order", "Too much", ""],
        "text": ["Ask for the order number.", "Stay below the price.", ""],
    }
    for bad in (
        {"name": ["x"], "text": ["..."]},
        {"name": ["a", "a"], "text": ["long enough"] * 2},
        {"name": [""], "text": ["x" * 9]},
    ):
        assert alice.post("/northwind/reasons/change", bad).status_code == 422, bad
    assert alice.post("/northwind/reasons/change", given).status_code == 302
    assert [one.name for one in RejectReason.objects.order_by("place")] == ["Wrong order", "Too much"]
    row, other = waiting(cast.support), waiting(cast.support)
    form = get(bob, row, "?mode=reject")
    assert "Stay below the price." in form and " required" not in form.split('id="n1"')[1].split(">")[0]
    assert "Wrong order" not in get(bob, row, "?mode=approve").split('id="decide-form"')[1]
    assert send(bob, row, "reject", reason="").status_code == 422
    unknown = send(bob, row, "reject", reason="Nothing of these", message="kept")
    assert unknown.status_code == 422 and "kept" in unknown.content.decode()
    assert send(bob, row, "reject", reason="Too much").status_code == 302
    assert send(bob, other, "reject", reason="Wrong order", message="It is 8813.").status_code == 302
    said = {one.request_id: one.message for one in Decision.objects.all()}
    assert said == {row.pk: "Stay below the price.", other.pk: "Ask for the order number.\n\nIt is 8813."}
    assert {one.reason for one in Review.objects.all()} == {"Too much", "Wrong order"}
    listed = PersonHttp(cast.bob).get("/reasons").ok()["items"]
    assert listed[0] == {"name": "Wrong order", "text": "Ask for the order number."}
    assert events("reasons.set") == 1
    assert alice.post("/northwind/reasons/change", given).status_code == 302 and events("reasons.set") == 1


def test_the_nearest_of_what_was_decided_before_stands_beside_it(cast: Cast, as_: As) -> None:
    words, bob = "Refund ${amount:money} to order {order_id}", as_(cast.bob)
    calls = [("5.00", "1"), ("1240.00", "7"), ("6.00", "2"), ("1240.00", "8812")]
    for amount, order in calls:
        row = waiting(cast.support, arguments=f'{{"amount":"{amount}","order_id":"{order}"}}', template=words)
        send(bob, row, "reject", message=f"Not {order}") if order == "7" else send(bob, row, "approve")
    theirs = waiting(cast.support, agent="other", template=words)
    send(bob, theirs, "approve")
    asked = waiting(cast.support, template=words)
    shown = get(bob, asked).split('id="alike"')[1].split("</section>")[0]
    order = re.findall(r"requests/(\d+)", shown)
    assert order == ["4004", "4002", "4003", "4001"], "the same call, a value in common, then the newest"
    assert shown.count("exactly this call") == 1
    assert "In common: <bdi>$1,240.00</bdi>" in shown and "Not 7" in shown
    assert 'the last 4: <span class="num">3</span> approved, <span class="num">1</span> rejected' in shown
    assert 'id="alike"' not in get(bob, waiting(cast.support, tool="another"))


def test_the_plan_stands_beside_it_with_the_step_at_which_the_agent_is(cast: Cast, as_: As) -> None:
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    agent = agent_of(cast.support)
    run, steps = agent.run()["id"], [{"id": f"s{at}", "title": f"Step {at}"} for at in range(1, 31)]
    agent.post(f"/runs/{run}/plans", {"steps": steps}).ok(201)
    agent.pause(run, call(), checkpoint={"state": {}, "plan": {"version": 1, "step": 9}}).ok(201)
    row, bob = ReviewRequest.objects.get(), as_(cast.bob)
    plan = get(bob, row).split('id="plan"')[1].split("</section>")[0]
    (current,) = re.findall(r"<li[^>]*aria-current.*?</li>", plan)
    assert "Step 9<" in current and "the agent is here" in current
    assert "2 steps before" in plan and "15 steps after" in plan and "Step 2<" not in plan
    run, why = agent.run()["id"], {"kind": "agent", "text": "it was too long"}
    agent.post(f"/runs/{run}/plans", {"steps": steps}).ok(201)
    agent.post(f"/runs/{run}/plans", {"steps": steps[:3], "base": 1, "why": why}).ok(201)
    agent.pause(run, call(), checkpoint={"state": {}, "plan": {"version": 1, "step": 9}}).ok(201)
    assert "stopped here with version 1" in get(bob, ReviewRequest.objects.latest("number"))
    assert 'id="plan"' not in get(bob, waiting(cast.support))


def test_the_words_of_page_message_and_record_are_one_sentence(cast: Cast, as_: As) -> None:
    policy(cast.support, {"name": "Two", "tool": "*", "action": "require", "approvals": 2})
    row, bob = waiting(cast.support, approvals=2, template="Refund ${amount:money}"), as_(cast.bob)
    sent = {**form_of(get(bob, row)), "type": "approve"}
    told = bob.post(path_of(row, "/decide"), sent, follow=True).content.decode()
    assert "Recorded, 1 of 2: Refund $1,240.00." in unescape(told)
    log = as_(cast.alice).get("/northwind/audit").content.decode()
    assert f"Bob voted to approve #{row.number}: Refund $1,240.00" in re.sub(r"<[^>]*>", "", unescape(log))


def test_a_sentence_is_tried_on_the_last_calls_before_it_is_kept(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, schema='{"type":"object","properties":{"amount":{},"order_id":{}}}')
    tool, alice = row.agent.tools.get(), as_(cast.alice)
    here = f"/northwind/tools/{tool.pk}/sentence"
    tried = alice.get(here, {"sentence": "Refund ${amount:money}"}).content.decode()
    assert "$1,240.00" in tried and "<html" not in tried
    for wrong, said in (
        ("{price}", "have no “price”"),
        ("{amount", "not closed"),
        ("{amount:x}", "“x” is unknown"),
    ):
        assert said in unescape(alice.get(here, {"sentence": wrong}).content.decode())
    sent = {"sentence": "Pay {order_id}", "try": "1"}
    page = alice.post(here.replace("/sentence", "/change"), sent).content.decode()
    assert "8812" in page.split(f'id="p-{tool.pk}"')[1].split("</div>")[0]
    tool.refresh_from_db()
    assert tool.sentence == ""
