"""Two at the same moment: one winner, nothing stuck, nothing twice. Each function plays one round of one race."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest import mock

from django.db.models import F

from reviewhub.accounts.enable import enable
from reviewhub.accounts.models import Agent, AgentKey, Member
from reviewhub.accounts.revoke_key import revoke_key
from reviewhub.audit.models import Event
from reviewhub.checkpoints import change, recall
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.clock import now
from reviewhub.deliveries.models import Email
from reviewhub.gates.start import start as start_agent
from reviewhub.gates.stop import stop as stop_agent
from reviewhub.insights.models import Alarm
from reviewhub.insights.raise_alarms import QUIET, raise_alarms
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.resumptions.models import Resumption
from reviewhub.retention.estimate import Estimate
from reviewhub.retention.prune import prune
from reviewhub.reviews.disable_member import disable_member
from reviewhub.reviews.expire import expire
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.runs.models import Branch, RetentionRule
from reviewhub.runs.states import OPEN_BRANCH
from reviewhub.toolcalls.models import Attempt, Decision, Pause, ToolCall
from tests.cast import ALICE, Cast, add_key
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call, observed, policy
from tests.racing import together


@dataclass
class Scene:
    """One agent, three reviewers of its team, and a policy where `twice` needs two approvals."""

    cast: Cast
    agent: AgentHttp
    people: list[PersonHttp]

    def waiting(self, *tools: str) -> tuple[Any, list[Any]]:
        """A new run that waits at these calls: the pause and its calls."""
        run = self.agent.run()
        calls = [call(tool, f"c{place}") for place, tool in enumerate(tools or ("refund",))]
        paused = self.agent.pause(run["id"], *calls).ok(201)
        return paused, paused["tool_calls"]


def scene(cast: Cast) -> Scene:
    """Sets the scene in an empty database."""
    cast.alice.teams.add(cast.support)
    cast.dave.teams.add(cast.support)
    policy(
        cast.support,
        {"name": "Two", "tool": "twice", "action": "require", "approvals": 2},
        {"name": "Timed", "tool": "timed", "action": "require", "deadline_seconds": 3600},
    )
    people = [PersonHttp(member) for member in (cast.bob, cast.alice, cast.dave)]
    return Scene(cast=cast, agent=agent_of(cast.support), people=people)


def decide_decide(at: Scene) -> None:
    """Two people answer one request differently: one decision."""
    _, (one,) = at.waiting()
    bob, alice, _ = at.people
    replies = together(
        lambda: bob.decide(one, "approve"), lambda: alice.decide(one, "reject", message="Not this one.")
    )
    assert sorted(_statuses(replies)) == [200, 409], replies
    loser = next(reply for reply in replies if reply.status == 409)
    assert loser.code == "already_decided"
    assert loser.json["by"]
    _settled_once(one)


def decide_expire(at: Scene) -> None:
    """A decision and the sweep meet at the deadline: one final state, and the run follows it."""
    paused, (one,) = at.waiting("timed")
    request = ReviewRequest.objects.get(tool_call=one["id"])
    ReviewRequest.objects.filter(pk=request.pk).update(deadline_at=now() + timedelta(milliseconds=8))
    replies = together(
        lambda: at.people[0].decide(one, "approve"),
        lambda: _expire_until_final(request),
        lambda: _expire_until_final(request),
    )
    request.refresh_from_db()
    assert request.state in ("approved", "expired")
    assert (replies[0].status == 200) == (request.state == "approved"), replies
    if replies[0].status != 200:
        assert replies[0].code == "expired"
    state = ToolCall.objects.get(pk=one["id"]).state
    assert state == ("allowed" if request.state == "approved" else "denied")
    _settled_once(one)


def sibling_sibling(at: Scene) -> None:
    """The two calls of one pause are decided at once: exactly one wakes the branch."""
    paused, (one, two) = at.waiting("refund", "mail")
    replies = together(
        lambda: at.people[0].decide(one, "approve"),
        lambda: at.people[1].decide(two, "reject", message="Not this one."),
    )
    assert _statuses(replies) == [200, 200], replies
    pause = Pause.objects.get(pk=paused["id"])
    assert (pause.state, pause.open_calls) == ("settled", 0)
    assert Resumption.objects.filter(pause=pause).count() == 1
    assert Branch.objects.get(pk=pause.branch_id).state == "resuming"


def vote_vote(at: Scene) -> None:
    """The two approvals that are needed come at once: the request is approved, once."""
    _, (one,) = at.waiting("twice")
    replies = together(
        lambda: at.people[0].decide(one, "approve"), lambda: at.people[1].decide(one, "approve")
    )
    assert _statuses(replies) == [200, 200], replies
    assert ReviewRequest.objects.get(tool_call=one["id"]).state == "approved"
    assert Review.objects.filter(request__tool_call=one["id"]).count() == 2
    _settled_once(one)


def pause_pause(at: Scene) -> None:
    """One pause is sent twice at once with one key: one pause, both are told of it."""
    run = at.agent.run()
    twin = AgentHttp(token=at.agent.token)
    replies = together(
        lambda: at.agent.pause(run["id"], call(), key="same"),
        lambda: twin.pause(run["id"], call(), key="same"),
    )
    assert sorted(_statuses(replies)) == [200, 201], replies
    assert replies[0].json["id"] == replies[1].json["id"]
    assert Pause.objects.filter(run=run["id"]).count() == 1
    assert ReviewRequest.objects.filter(run=run["id"]).count() == 1


def consume_consume(at: Scene) -> None:
    """Two processes consume one `once` call: one of them may run the tool."""
    _, (one,) = at.waiting()
    at.people[0].decide(one, "approve").ok()
    twin = AgentHttp(token=at.agent.token)
    replies = together(lambda: at.agent.consume(one), lambda: twin.consume(one))
    assert sorted(_statuses(replies)) == [200, 409], replies
    assert next(reply for reply in replies if reply.status == 409).code == "already_consumed"
    assert Attempt.objects.filter(tool_call=one["id"]).count() == 1


def cancel_decide(at: Scene) -> None:
    """The run is cancelled while somebody approves: whoever was first, nothing is left that may run."""
    paused, (one,) = at.waiting()
    run = paused["run"]
    replies = together(
        lambda: at.people[0].decide(one, "approve"), lambda: at.agent.post(f"/runs/{run}/cancel")
    )
    assert replies[1].status == 200, replies
    assert replies[0].status in (200, 409), replies
    assert ReviewRequest.objects.get(tool_call=one["id"]).state in ("approved", "cancelled")
    assert ToolCall.objects.get(pk=one["id"]).state == "skipped"
    assert at.agent.consume(one).status == 409
    assert Branch.objects.get(run=run).state == "cancelled"
    assert not Resumption.objects.filter(branch__run=run, state__in=["queued", "claimed"]).exists()


def save_save(at: Scene) -> None:
    """Two processes save on one head: one of them moves it, the other is told where it is and leaves nothing."""
    run = at.agent.run()["id"]
    first = at.agent.post(f"/runs/{run}/checkpoints", {"state": {"log": [1]}}).ok(201)
    twin = AgentHttp(token=at.agent.token)
    hints = {"append": {"log": [2]}, "parent": first["id"], "parent_hash": first["hash"]}
    whole = {"state": {"log": [1], "text": "x" * 400}, "parent": first["id"]}
    replies = together(
        lambda: at.agent.post(f"/runs/{run}/checkpoints", hints),
        lambda: twin.post(f"/runs/{run}/checkpoints", whole),
    )
    assert sorted(_statuses(replies)) == [201, 409], replies
    loser, winner = sorted(replies, key=lambda reply: reply.status, reverse=True)
    assert loser.code == "stale_head"
    assert loser.json["head"] == {"id": winner.json["id"], "hash": winner.json["hash"]}
    assert Checkpoint.objects.filter(run=run).count() == 2
    assert str(Branch.objects.get(run=run).head) == winner.json["id"]


def prune_fork(at: Scene) -> None:
    """A checkpoint is removed while somebody forks it: it stays the fork stands, or it is gone and they are told."""
    run = at.agent.run()["id"]
    saved = _saved_alone(at, run)
    replies = together(
        lambda: at.agent.post(f"/checkpoints/{saved[1]['id']}/fork", {"reason": "again"}),
        lambda: prune(run_id=uuid.UUID(run)),
    )
    assert isinstance(replies[1], Estimate), replies
    assert replies[0].status in (201, 410), replies
    there = Checkpoint.objects.filter(pk=saved[1]["id"]).exists()
    assert there == (replies[0].status == 201), replies
    recall.forget_all()
    for row in Checkpoint.objects.filter(run=run):
        load(row)
    if not there:
        assert replies[0].json["hash"] == saved[1]["hash"]


def prune_pause(at: Scene) -> None:
    """An agent stops at its head, and at an older checkpoint, while a rule takes what it can."""
    run = at.agent.run()["id"]
    saved = _saved_alone(at, run)
    twin = AgentHttp(token=at.agent.token)
    replies = together(
        lambda: at.agent.pause(run, call(), checkpoint={"id": saved[2]["id"]}),
        lambda: twin.pause(run, call(), checkpoint={"id": saved[0]["id"]}),
        lambda: prune(run_id=uuid.UUID(run)),
    )
    assert isinstance(replies[2], Estimate), replies
    assert replies[0].status == 201, replies
    assert (replies[1].status, replies[1].code) in {
        (409, "stale_head"),
        (409, "branch_paused"),
        (410, "checkpoint_removed"),
    }, replies
    assert list(Checkpoint.objects.filter(run=run).values_list("number", flat=True)) == [3]
    assert str(Pause.objects.get(run=run).checkpoint_id) == saved[2]["id"]


def disable_decide(at: Scene) -> None:
    """A reviewer is disabled while they approve: their vote came before and is void, or it was never written."""
    _, (one,) = at.waiting("twice")
    bob = Member.objects.select_related("person").get(pk=at.cast.bob.pk)
    person = PersonHttp(bob)
    replies = together(lambda: person.decide(one, "approve"), lambda: disable_member(member=bob, actor=ALICE))
    assert not isinstance(replies[1], Exception), replies
    assert replies[0].status in (200, 401, 403, 404), replies
    votes = Review.objects.filter(request__tool_call=one["id"])
    assert votes.count() == (replies[0].status == 200)
    assert not votes.filter(voided_at__isnull=True).exists(), replies
    if replies[0].status == 200:
        _came_before("request.voted", "member.disabled")
    assert at.people[1].decide(one, "approve").ok()["needed"] == 1
    assert ReviewRequest.objects.get(tool_call=one["id"]).state == "pending"
    enable(member=bob, actor=ALICE)


def revoke_consume(at: Scene) -> None:
    """A key is revoked while it consumes: the tool was started before, or not at all."""
    _, (one,) = at.waiting()
    at.people[0].decide(one, "approve").ok()
    key, token = add_key(Agent.objects.get())
    agent = AgentHttp(token=token)
    replies = together(lambda: agent.consume(one), lambda: revoke_key(key=key, actor=ALICE))
    assert isinstance(replies[1], AgentKey), replies
    assert replies[0].status in (200, 401, 403), replies
    assert Attempt.objects.filter(tool_call=one["id"]).count() == (replies[0].status == 200)
    if replies[0].status == 200:
        _came_before("call.started", "key.revoked")
    assert agent.consume(one).status == 401


def stop_start(at: Scene) -> None:
    """An agent is stopped while it starts, asks and forks: nothing of it goes on afterwards."""
    agent = Agent.objects.get()
    run = at.agent.run()
    saved = at.agent.post(f"/runs/{run['id']}/checkpoints", {"state": {"n": 1}}).ok(201)
    twins = [AgentHttp(token=at.agent.token) for _ in range(3)]
    replies = together(
        lambda: twins[0].post("/runs", {}),
        lambda: twins[1].pause(run["id"], call()),
        lambda: twins[2].post(f"/checkpoints/{saved['id']}/fork", {"reason": "again"}),
        lambda: stop_agent(agent_id=agent.pk, reason="it misbehaves", actor=ALICE),
    )
    assert isinstance(replies[3], int), replies
    assert set(_statuses(replies[:3])) <= {201, 403, 409}, replies
    assert not Branch.objects.filter(run__agent=agent, state__in=OPEN_BRANCH).exists(), replies
    assert not ReviewRequest.objects.filter(agent=agent, state="pending").exists(), replies
    assert at.agent.post("/runs", {}).code == "agent_stopped"
    start_agent(agent_id=agent.pk, actor=ALICE)


def plan_plan(at: Scene) -> None:
    """Two plan on from one version: the second is told which one is in force; on two branches both may."""
    run = at.agent.run()["id"]
    twin = AgentHttp(token=at.agent.token)
    steps = [{"id": "a", "title": "A"}]
    replies = together(
        lambda: at.agent.post(f"/runs/{run}/plans", {"steps": steps, "base": 0}),
        lambda: twin.post(f"/runs/{run}/plans", {"steps": steps, "base": 0}),
    )
    assert sorted(_statuses(replies)) == [201, 409], replies
    loser = next(reply for reply in replies if reply.status == 409)
    assert (loser.code, loser.json["version"]) == ("stale_plan", 1)
    saved = at.agent.post(f"/runs/{run}/checkpoints", {"state": {}}).ok(201)
    fork = at.agent.post(f"/checkpoints/{saved['id']}/fork", {}).ok(201)["branch"]["name"]
    why = {"kind": "agent"}
    replies = together(
        lambda: at.agent.post(f"/runs/{run}/plans", {"steps": steps, "base": 1, "why": why}),
        lambda: twin.post(f"/runs/{run}/plans", {"steps": steps, "base": 2, "why": why, "branch": fork}),
        lambda: at.people[0].post(f"/runs/{run}/plans/2/restore", {"base": 1, "reason": "better"}),
    )
    assert replies[1].status == 201, replies
    assert sorted([replies[0].status, replies[2].status]) == [201, 409], replies
    assert sorted(PlanVersion.objects.filter(run=run).values_list("number", flat=True)) == [1, 2, 3, 4]


def mark_mark(at: Scene) -> None:
    """Two mark one step: the marks come one after the other, and none is lost."""
    run = at.agent.run()["id"]
    twin = AgentHttp(token=at.agent.token)
    at.agent.post(f"/runs/{run}/plans", {"steps": [{"id": "a", "title": "A"}]}).ok(201)
    path = f"/runs/{run}/plans/1/marks"
    replies = together(
        lambda: at.agent.post(path, {"marks": [{"step": "a", "status": "done"}]}),
        lambda: twin.post(path, {"marks": [{"step": "a", "status": "skipped"}]}),
    )
    assert sorted(_statuses(replies)) == [200, 409], replies
    assert StepMark.objects.filter(version__run=run).count() == 1


def rewrite_decide(at: Scene) -> None:
    """A run is rewritten while somebody approves: whoever was first, nothing of the old branch may run."""
    paused, (one,) = at.waiting()
    bob, alice, _ = at.people
    address = f"/checkpoints/{paused['checkpoint']['id']}/rewrite"
    replies = together(lambda: bob.decide(one, "approve"), lambda: alice.post(address, {"reason": "wrong"}))
    assert replies[1].status == 201, replies
    assert replies[0].status in (200, 409), replies
    request = ReviewRequest.objects.get(tool_call=one["id"])
    assert request.state == ("approved" if replies[0].status == 200 else "withdrawn"), replies
    assert ToolCall.objects.get(pk=one["id"]).state == "skipped"
    assert at.agent.consume(one).code == "superseded"
    old, new = Branch.objects.filter(run=paused["run"]).order_by("created_at")
    assert (old.state, old.superseded_by_id, new.state) == ("superseded", new.pk, "resuming")
    woken = Resumption.objects.filter(branch__run=paused["run"], state__in=["queued", "claimed"])
    assert [row.branch_id for row in woken] == [new.pk]


def rewrite_consume(at: Scene) -> None:
    """A run is rewritten while its tool starts: it ran before and is told as under way, or it never runs."""
    paused, (one,) = at.waiting()
    at.people[0].decide(one, "approve").ok()
    address = f"/checkpoints/{paused['checkpoint']['id']}/rewrite"
    replies = together(lambda: at.agent.consume(one), lambda: at.people[1].post(address, {"reason": "wrong"}))
    assert replies[1].status == 201, replies
    old = replies[1].json["old"]
    if replies[0].status == 200:
        assert [call["id"] for call in old["under_way"]] == [one["id"]], replies
        assert at.agent.outcome(one).ok()["continue_from"]["checkpoint"] == replies[1].json["checkpoint"]
        assert ToolCall.objects.get(pk=one["id"]).state == "succeeded"
    else:
        assert replies[0].code == "superseded", replies
        assert [call["id"] for call in old["withdrawn"]] == [one["id"]], replies
        assert ToolCall.objects.get(pk=one["id"]).state == "skipped"
    assert Attempt.objects.filter(tool_call=one["id"]).count() == (replies[0].status == 200)


def rewrite_rewrite(at: Scene) -> None:
    """Two people rewrite one branch: one branch goes on, the other is told who and where."""
    paused, _ = at.waiting()
    address = f"/checkpoints/{paused['checkpoint']['id']}/rewrite"
    replies = together(
        *(lambda who=who: who.post(address, {"reason": "wrong"}) for who in at.people[:2])  # type: ignore[misc]
    )
    assert sorted(_statuses(replies)) == [201, 409], replies
    loser, winner = sorted(replies, key=lambda reply: reply.status, reverse=True)
    assert loser.code == "superseded"
    assert loser.json["continue_from"]["checkpoint"] == winner.json["checkpoint"]
    assert loser.json["by"] in ("Bob", "Alice")
    assert Branch.objects.filter(run=paused["run"]).count() == 2


def alarm_alarm(at: Scene) -> None:
    """Two workers find the same call that ran without approval: one tells of it, the other sees that it was told."""
    policy(at.cast.support, {"name": "Held", "tool": "refund", "action": "require"})
    Alarm.objects.update(raised_at=F("raised_at") - QUIET)  # the one of the race before is a day old
    told = Email.objects.filter(subject__contains="without approval").count()
    ran = observed(at.agent, at.agent.run()["id"])
    assert sorted(together(raise_alarms, raise_alarms)) == [0, 1]
    assert Alarm.objects.filter(pk=ran).count() == 1
    managers = 2
    assert Email.objects.filter(subject__contains="without approval").count() == told + managers


RACES = (
    alarm_alarm,
    decide_decide,
    decide_expire,
    sibling_sibling,
    vote_vote,
    pause_pause,
    consume_consume,
    cancel_decide,
    save_save,
    prune_fork,
    prune_pause,
    plan_plan,
    mark_mark,
    disable_decide,
    revoke_consume,
    stop_start,
    rewrite_decide,
    rewrite_consume,
    rewrite_rewrite,
)


def _statuses(replies: list[Reply | Exception]) -> list[int]:
    assert all(isinstance(reply, Reply) for reply in replies), replies
    return [reply.status for reply in replies if isinstance(reply, Reply)]


def _saved_alone(at: Scene, run: str) -> list[Any]:
    """Three checkpoints of which none stands on another, and a rule that takes all but the head."""
    RetentionRule.objects.get_or_create(workspace=at.cast.workspace, max_age_days=0, author_name="Alice")
    with mock.patch.object(change, "MANIFEST_ROWS", 1):
        return [at.agent.post(f"/runs/{run}/checkpoints", {"state": {"n": n}}).ok(201) for n in range(3)]


def _came_before(kind: str, end: str) -> None:
    """The newest event of `kind` is older than the newest `end`: the record tells it in the order that counted."""
    newest = {one: Event.objects.filter(kind=one).latest("id").pk for one in (kind, end)}
    assert newest[kind] < newest[end], newest


def _expire_until_final(request: ReviewRequest) -> None:
    for _ in range(200):
        expire(request_id=request.pk)
        if ReviewRequest.objects.get(pk=request.pk).state != "pending":
            return
    raise AssertionError("the request never became final")


def _settled_once(one: Any) -> None:
    found = ToolCall.objects.get(pk=one["id"])
    assert Decision.objects.filter(tool_call=found).count() == 1
    assert found.pause is not None
    assert (found.pause.state, found.pause.open_calls) == ("settled", 0)
    assert Resumption.objects.filter(pause=found.pause).count() == 1
