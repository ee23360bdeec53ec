"""What ran without waiting is looked at afterwards: who may, verdicts, what follows a flag; it stops nothing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db.models import F
from reviewhub_agents import canonical, wire

from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.audit.models import Event
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.deliveries.models import Email
from reviewhub.insights.models import Alarm
from reviewhub.insights.raise_alarms import QUIET, raise_alarms
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.reading import parse_policy
from reviewhub.reviews.models import FollowUp, PostReview, ReviewRequest
from reviewhub.reviews.take_up_rule import take_up_rule
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call, new_id, observed, policy
from tests.racing import together
from tests.shared import shared

pytestmark = pytest.mark.django_db
GLANCE = {"name": "Glance", "tool": "refund", "action": "observe"}
FLAG = {"verdict": "flagged", "severity": "high", "note": "Twice the price."}


@shared
def agent(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    made.put("/tools/refund", {"effect": "once", "schema": {"type": "object"}}).ok()
    policy(cast.support, GLANCE)
    return made


@shared
def carol(cast: Cast) -> PersonHttp:
    return PersonHttp(cast.carol)


def by_page(who: Member) -> Actor:
    return actor_for(MemberCaller(who), source="page")


def grade(who: PersonHttp, call_id: str, body: dict[str, Any] | None = None, **more: Any) -> Reply:
    return who.post(f"/observations/{call_id}/grade", {**(body or {"verdict": "fine"}), **more})


def test_only_who_looks_after_the_agent(agent: AgentHttp, cast: Cast, carol: PersonHttp) -> None:
    one = observed(agent, agent.run()["id"])
    for who, status in ((cast.mallory, 404), (cast.dave, 404)):
        outsider = PersonHttp(who)
        assert grade(outsider, one).status == status
        assert outsider.get(f"/observations/{one}").status == 404
        assert outsider.get("/observations").ok()["items"] == []
    assert agent.post(f"/observations/{one}/grade", {"verdict": "fine"}).status == 403
    assert PostReview.objects.get().state == "drawn"
    for nothing in (new_id(), agent.run()["id"]):
        assert grade(carol, nothing).status == 404
    found = grade(carol, one, note="As it should be.").ok()
    assert (found["state"], found["by"], found["note"]) == ("fine", "Carol", "As it should be.")
    event = Event.objects.get(kind="post_review.graded")
    assert event.payload.sentence == "Carol looked at a call of refund afterwards: fine (As it should be.)"


def test_a_sample_of_what_a_rule_observes_is_drawn_when_it_ends(
    agent: AgentHttp, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.put("/tools/look", {"effect": "read", "schema": {"type": "object"}}).ok()
    policy(cast.support, {"name": "Some", "tool": "look", "action": "observe", "sample_percent": 10}, GLANCE)
    run = agent.run()["id"]
    drawn = []
    for number, status in ((10, "succeeded"), (9, "succeeded"), (99, "failed")):
        monkeypatch.setattr("reviewhub.reviews.sampling.number_of", lambda _, number=number: number)
        observed(agent, run, status, tool="look")
        (waiting,) = agent.pause(run, call("look")).ok(201)["tool_calls"]
        assert "in 10 of 100 cases" in waiting["because"]["text"]
        agent.consume(waiting).ok()
        before = PostReview.objects.count()
        agent.outcome(waiting, status, **({"error": "gone"} if status == "failed" else {})).ok()
        drawn.append((before, PostReview.objects.count()))
    assert drawn == [(0, 0), (1, 2), (3, 4)]
    row = PostReview.objects.earliest("id")
    assert (row.percent, row.number, row.rank, row.risk) == (10, 9, 0, "low")
    assert row.drawn_because.endswith("Number 9 is among the first 10 of 100.")
    assert Event.objects.filter(kind="post_review.drawn").count() == 4


def test_what_people_approved_is_not_drawn(agent: AgentHttp, cast: Cast) -> None:
    (one,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    policy(cast.support, {**GLANCE, "action": "require"})
    assert agent.consume(one).code == "policy_changed"
    asked = agent.get(f"/tool-calls/{one['id']}").ok()
    PersonHttp(cast.bob).decide(asked, "approve").ok()
    agent.consume(agent.get(f"/tool-calls/{one['id']}").ok()).ok()
    agent.outcome(one).ok()
    assert not PostReview.objects.exists()


def test_the_worst_comes_first_and_each_page_goes_on_where_the_last_ended(
    agent: AgentHttp, cast: Cast, carol: PersonHttp
) -> None:
    run = agent.run()["id"]
    agent.put("/tools/look", {"effect": "read", "schema": {"type": "object"}}).ok()
    policy(cast.support, {"name": "All", "tool": "look", "action": "observe"}, GLANCE)
    wanted = [observed(agent, run, tool=tool) for tool in ("look", "refund", "look", "mail")]
    low, high, later, unasked = wanted
    listed = carol.get("/observations").ok()
    assert [one["id"] for one in listed["items"]] == [unasked, high, low, later]
    assert listed["items"][0]["ran_without_approval"] and listed["items"][0]["severity"] == "high"
    assert [one["id"] for one in carol.get("/observations?tool=look").ok()["items"]] == [low, later]
    for bad in ("state=open", "handed_to=bob", "cursor=x", "cursor=WzEsMl0", "colour=red"):
        assert carol.get(f"/observations?{bad}").status == 422, bad
    grade(carol, low).ok()
    assert [one["id"] for one in carol.get("/observations?state=fine").ok()["items"]] == [low]


def test_what_only_reads_is_no_alarm_and_what_writes_or_nobody_described_is(
    agent: AgentHttp, cast: Cast, carol: PersonHttp
) -> None:
    """The page, the API and the record say the same of it; the alarms of one tool of one agent are one, told once."""
    for tool in ("look", "peer", "closed"):
        agent.put(f"/tools/{tool}", {"effect": "read", "schema": {"type": "object"}}).ok()
    Tool.objects.filter(name="peer").update(risk="medium")
    policy(
        cast.support,
        {"name": "Shut", "tool": "closed", "action": "deny"},
        {"name": "Held", "tool": "*", "action": "require"},
    )
    run = agent.run()["id"]
    for tool in ("look", "peer", "closed", "refund", "mail", "mail"):
        observed(agent, run, tool=tool)
    found = {
        one.tool_name: (one.severity, one.risk, one.rank) for one in PostReview.objects.order_by("tool_name")
    }
    alarm = ("high", "high", 4)
    assert found == {
        "look": ("low", "low", 0),
        "peer": alarm,
        "closed": alarm,
        "refund": alarm,
        "mail": alarm,
    }
    assert carol.get("/observations?tool=look").ok()["items"][0]["ran_without_approval"], (
        "it is said all the same"
    )
    assert raise_alarms() == 5
    mails = Email.objects.filter(to="carol@example.com")
    assert mails.count() == 1
    assert mails.get().body.count("/runs/") == 4 and "2 calls" in mails.get().body
    observed(agent, run, tool="mail")
    assert (raise_alarms(), mails.count()) == (1, 1), "the same alarm"
    Alarm.objects.update(raised_at=F("raised_at") - QUIET)
    observed(agent, run, tool="mail")
    assert (raise_alarms(), mails.count()) == (1, 2), "a day later"


def test_a_verdict_is_taken_once_and_may_be_taken_back(
    agent: AgentHttp, carol: PersonHttp, cast: Cast
) -> None:
    one = observed(agent, agent.run()["id"])
    grade(carol, one, FLAG).ok()
    late = grade(PersonHttp(cast.bob), one)
    assert (late.status, late.code, late.json["by"]) == (409, "already_decided", "Carol")
    assert carol.post(f"/observations/{one}/reopen").ok()["state"] == "drawn"
    assert carol.post(f"/observations/{one}/reopen").ok()["state"] == "drawn", "twice is once"
    assert Event.objects.filter(kind="post_review.reopened").count() == 1
    grade(carol, one, FLAG, follow_up="notify").ok()
    assert carol.post(f"/observations/{one}/reopen").code == "has_follow_ups"


def test_a_repeat_with_the_same_key_changes_nothing(agent: AgentHttp, carol: PersonHttp) -> None:
    one = observed(agent, agent.run()["id"])
    body = {**FLAG, "follow_up": "notify"}
    for _ in range(2):
        assert carol.post(f"/observations/{one}/grade", body, key="same").ok()["state"] == "flagged"
    assert carol.post(f"/observations/{one}/grade", {"verdict": "fine"}, key="same").status == 409
    assert FollowUp.objects.count() == Event.objects.filter(kind="post_review.graded").count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {"verdict": "flagged"}, {"verdict": "fine", "severity": "low"}, {"verdict": "great"},
        FLAG | {"severity": "huge"},
        {"verdict": "fine", "follow_up": "notify"}, FLAG | {"follow_up": "escalate"}, FLAG | {"note": 1},
        FLAG | {"follow_up": "notify", "to": str(uuid.UUID(int=0xA11CE))}, FLAG | {"follow_up": "sue"},
        FLAG | {"follow_up": "notify", "changes": [{"op": "remove", "path": "/n"}]},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(canonical.BadJson):
        wire.GradeBody.from_tree(body)


def test_people_are_told_without_the_words_of_the_flag(agent: AgentHttp, carol: PersonHttp) -> None:
    one = observed(agent, agent.run()["id"])
    found = grade(carol, one, FLAG, follow_up="notify").ok()
    (made,) = found["follow_ups"]
    assert (made["kind"], made["state"], made["to"]) == ("notify", "done", "Bob")
    mail = Email.objects.get(to="bob@example.com")
    assert f"/northwind/post-review/{one}" in mail.body and "Twice" not in mail.body


def test_it_is_handed_on_and_on_and_somebody_sees_to_it(
    agent: AgentHttp, carol: PersonHttp, cast: Cast
) -> None:
    one = observed(agent, agent.run()["id"])
    for nobody in (cast.dave, cast.mallory):
        refused = grade(carol, one, FLAG, follow_up="escalate", to=str(nobody.pk))
        assert refused.status == 422 and PostReview.objects.get().state == "drawn", "nothing is half done"
    grade(carol, one, FLAG, follow_up="escalate", to=str(cast.bob.pk)).ok()
    bob = PersonHttp(cast.bob)
    assert [row["id"] for row in bob.get("/observations?handed_to=me").ok()["items"]] == [one]
    on = {"kind": "escalate", "to": str(cast.alice.pk), "note": "Yours."}
    first, second = bob.post(f"/observations/{one}/follow-up", on).ok(201)["follow_ups"]
    assert (first["state"], first["done_note"], second["to"]) == ("done", "Handed on to Alice", "Alice")
    assert bob.get("/observations?handed_to=me").ok()["items"] == []
    alice, mallory = PersonHttp(cast.alice), PersonHttp(cast.mallory)
    assert mallory.post(f"/follow-ups/{second['id']}/close").status == 404
    for note in ("Refunded the rest.", "again"):
        closed = alice.post(f"/follow-ups/{second['id']}/close", {"note": note}).ok()
        assert (closed["state"], closed["done_by"], closed["done_note"]) == (
            "done",
            "Alice",
            "Refunded the rest.",
        )
    assert Email.objects.filter(to__in=["bob@example.com", "alice@example.com"]).count() == 2
    assert Event.objects.filter(kind="post_review.follow_up_closed").count() == 1


def test_a_guardrail_is_suggested_once_and_taken_into_the_draft(
    agent: AgentHttp, carol: PersonHttp, cast: Cast
) -> None:
    one = observed(agent, agent.run()["id"])
    grade(carol, one, FLAG, follow_up="draft_rule").ok()
    (made,) = carol.post(f"/observations/{one}/follow-up", {"kind": "draft_rule"}).ok(201)["follow_ups"]
    assert made["rule"]["action"] == "require" and made["rule"]["environment"] == "production"
    take_up_rule(workspace=cast.workspace, follow_up_id=uuid.UUID(made["id"]), actor=by_page(cast.alice))
    policy_ = parse_policy(PolicyDraft.objects.get(state="draft").rules)
    assert [rule.tool for rule in policy_.guardrails] == ["refund"]
    assert [rule.name for rule in policy_.rules] == ["Glance"]
    assert FollowUp.objects.get().state == "done"


def test_a_corrective_branch_stands_on_the_checkpoint_of_the_call_and_repeats_nothing(
    agent: AgentHttp, carol: PersonHttp, cast: Cast
) -> None:
    run = agent.run()["id"]
    one = observed(agent, run)
    refused = grade(carol, one, FLAG, follow_up="fork")
    assert refused.status == 403 and PostReview.objects.get().state == "drawn", "a manager forks nothing"
    main = Branch.objects.get(run=run)
    agent.post(f"/branches/{main.pk}/finish").ok()
    changes = [{"op": "set", "path": "/n", "value": 2}]
    found = grade(PersonHttp(cast.bob), one, FLAG, follow_up="fork", changes=changes).ok()
    fork = Branch.objects.get(pk=found["follow_ups"][0]["branch"])
    assert fork.fork_of == ToolCall.objects.get(pk=one).checkpoint_id
    assert Run.objects.get(pk=run).state == "running", "also an ended run is corrected"
    assert agent.get(f"/checkpoints/{fork.head}?state=full").ok()["state"] == {"n": 2}
    # The rule would let it run; what was done before needs a person, who is told.
    (again,) = agent.pause(run, call(), branch=fork.name, checkpoint={"state": {"n": 3}}).ok(201)[
        "tool_calls"
    ]
    assert again["state"] == "waiting"
    request = ReviewRequest.objects.get(tool_call=again["id"])
    assert [str(twin.pk) for twin in request.repeats.all()] == [one]
    other = {**call(), "arguments": {"order": "8812", "amount": "5.00"}}
    (fresh,) = agent.pause(run, other, branch=fork.name).json.get("tool_calls", [{"state": "held"}])
    assert fresh["state"] in ("allowed", "held")


def test_a_stopped_agent_and_a_removed_checkpoint_take_no_corrective_branch(
    agent: AgentHttp, cast: Cast, carol: PersonHttp
) -> None:
    bob, run = PersonHttp(cast.bob), agent.run()["id"]
    one, bare = observed(agent, run), agent.run()["id"]
    told = {"tool_calls": [{**call(), "outcome": {"status": "succeeded"}}]}
    (without,) = agent.post(f"/runs/{bare}/observations", told).ok(201)["tool_calls"]
    assert grade(bob, without["id"], FLAG, follow_up="fork").status == 422
    row = ToolCall.objects.get(pk=one)
    row.agent.stopped_at = now()
    row.agent.save()
    assert grade(bob, one, FLAG, follow_up="fork").code == "agent_stopped"
    assert set(PostReview.objects.values_list("state", flat=True)) == {"drawn"}
    grade(carol, one, FLAG, follow_up="draft_rule").ok()


def test_an_erased_run_takes_no_word_more(agent: AgentHttp, carol: PersonHttp) -> None:
    one, run = (observed(agent, run := agent.run()["id"]), run)
    grade(carol, one, FLAG, follow_up="draft_rule").ok()
    other = observed(agent, run)
    Run.objects.filter(pk=run).update(erased_at=now())
    (made,) = FollowUp.objects.all()
    for path, body in (
        (f"observations/{other}/grade", {"verdict": "fine"}),
        (f"observations/{one}/follow-up", {"kind": "notify"}),
        (f"observations/{one}/reopen", {}),
        (f"follow-ups/{made.pk}/close", {"note": "words"}),
    ):
        assert carol.post(f"/{path}", body).code == "run_erased", path


def test_a_batch_takes_what_it_can(agent: AgentHttp, carol: PersonHttp, cast: Cast) -> None:
    run = agent.run()["id"]
    first, second = observed(agent, run), observed(agent, run)
    entries = [{"observation": one, "verdict": "fine"} for one in (first, second, new_id())]
    assert PersonHttp(cast.mallory).post("/observations/grade", {"grades": entries}).status == 422
    results = carol.post("/observations/grade", {"grades": entries}).ok(200)["results"]
    assert [one["status"] for one in results] == [200, 200, 404]
    assert set(PostReview.objects.values_list("state", flat=True)) == {"fine"}


@pytest.mark.django_db(transaction=True)
def test_of_verdicts_at_once_one_counts(cast: Cast) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"effect": "once", "schema": {"type": "object"}}).ok()
    policy(cast.support, GLANCE)
    one = observed(agent, agent.run()["id"])
    people = [PersonHttp(who) for who in (cast.bob, cast.carol, cast.alice)]
    bodies = (FLAG | {"follow_up": "fork"}, FLAG | {"follow_up": "draft_rule"}, {"verdict": "fine"})
    replies = together(
        *(lambda who=who, body=body: grade(who, one, body) for who, body in zip(people, bodies, strict=True))
    )
    assert sorted(reply.status for reply in replies) == [200, 409, 409], replies
    assert Event.objects.filter(kind="post_review.graded").count() == 1
    won = next(reply for reply in replies if reply.status == 200).json
    assert Branch.objects.count() == 1 + any(made["kind"] == "fork" for made in won["follow_ups"])
