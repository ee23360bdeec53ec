"""Somebody loses the right to act between the door and the write: they are refused, and nothing is written."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction

from reviewhub.accounts import permissions
from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent, AgentKey, Member, Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.revoke_key import revoke_key
from reviewhub.accounts.set_teams import set_teams
from reviewhub.core.clock import now
from reviewhub.gates.stop import stop
from reviewhub.reviews.disable_member import disable_member
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.locks import lock_branch
from reviewhub.toolcalls.models import Attempt
from tests.cast import ALICE, Cast, by_key, make_cast
from tests.driver import AgentHttp, PersonHttp, Reply, agent_of, call, policy
from tests.racing import together
from tests.shared import shared

DOORS = ("reviewhub.api.", "reviewhub.web.")


@dataclass
class Stage:
    """An agent with one call that waits, one that is allowed, one that runs, and an open branch; bob is signed in."""

    cast: Cast
    agent: AgentHttp
    bob: PersonHttp
    waiting: Any
    allowed: Any
    run: Any
    saved: Any
    question: Any

    @classmethod
    def of(cls, cast: Cast) -> Stage:
        agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
        (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
        (allowed,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
        bob.decide(allowed, "approve").ok()
        run = agent.run()
        saved = agent.post(f"/runs/{run['id']}/checkpoints", {"state": {"n": 1}}).ok(201)
        question = bob.post(f"/requests/{waiting['request']['id']}/ask", {"text": "Why?"}).ok(201)
        return cls(cast, agent, bob, waiting, allowed, run, saved, question)

    def of_request(self, verb: str, **body: Any) -> Reply:
        return self.bob.post(f"/requests/{self.waiting['request']['id']}/{verb}", body)

    def edit(self) -> Reply:
        changes = [{"op": "set", "path": "/amount", "value": "9.00"}]
        return self.bob.decide(self.waiting, "edit", changes=changes)

    def bulk(self) -> Reply:
        """One result for each; its status is what counts here."""
        one = {
            "request": self.waiting["request"]["id"],
            "type": "approve",
            "version": 1,
            "digest": self.waiting["digest"],
        }
        done = self.bob.post("/requests/decide", {"decisions": [one]}).ok(422)
        return Reply(status=done["results"][0]["status"], json=done)

    def observe(self) -> Reply:
        ran = {**call(), "outcome": {"status": "succeeded"}}
        return self.agent.post(f"/runs/{self.run['id']}/observations", {"tool_calls": [ran]})

    def of_page(self, path: str, **form: Any) -> Reply:
        found = self.bob.client.post(f"/northwind/{path}", form)
        return Reply(status=found.status_code, json={})

    def of_branch(self, verb: str, **body: Any) -> Reply:
        return self.agent.post(f"/branches/{self.run['branches'][0]['id']}/{verb}", body)


@shared
def at(cast: Cast) -> Stage:
    return Stage.of(cast)


Act = Callable[[Stage], Reply]
BY_BOB: dict[str, Act] = {
    "decide": lambda at: at.bob.decide(at.waiting, "approve"),
    "edit": Stage.edit,
    "bulk": Stage.bulk,
    "claim": lambda at: at.of_request("claim"),
    "release": lambda at: at.of_request("release"),
    "comment": lambda at: at.of_request("comment", text="Hm."),
    "ask": lambda at: at.of_request("ask", text="Why?"),
    "withdraw a vote": lambda at: at.of_request("withdraw-vote"),
    "hand over": lambda at: at.of_request("hand-over", to=str(at.cast.alice.pk)),
    "snooze": lambda at: at.of_request("snooze", minutes=60),
    "rewrite": lambda at: at.bob.post(
        f"/checkpoints/{at.saved['id']}/rewrite",
        {"reason": "wrong", "changes": [{"op": "set", "path": "/n", "value": 2}]},
    ),
    "cancel": lambda at: at.of_page(f"runs/{at.run['id']}/cancel", reason="no"),
    "fork": lambda at: at.of_page(f"checkpoints/{at.saved['id']}/fork", reason="again", key="k"),
    "fork with changes": lambda at: at.of_page(
        f"checkpoints/{at.saved['id']}/fork/edit",
        do="confirm",
        reason="again",
        key="k",
        changes='[{"op":"set","path":"/n","value":2}]',
    ),
}
BY_AGENT: dict[str, Act] = {
    "start": lambda at: at.agent.post("/runs", {}),
    "pause": lambda at: at.agent.pause(at.run["id"], call()),
    "observe": Stage.observe,
    "checkpoint": lambda at: at.agent.post(f"/runs/{at.run['id']}/checkpoints", {"state": {"n": 2}}),
    "consume": lambda at: at.agent.consume(at.allowed),
    "withdraw": lambda at: at.agent.post(f"/tool-calls/{at.waiting['id']}/withdraw", {}),
    "fork": lambda at: at.agent.post(f"/checkpoints/{at.saved['id']}/fork", {"reason": "again"}),
    "cancel": lambda at: at.agent.post(f"/runs/{at.run['id']}/cancel", {}),
    "claim": lambda at: at.of_branch("claim"),
    "finish": lambda at: at.of_branch("finish", result=1),
    "fail": lambda at: at.of_branch("fail", error="x"),
    "answer": lambda at: at.agent.post(f"/questions/{at.question['id']}/answer", {"text": "So."}),
    "declare": lambda at: at.agent.put("/tools/other", {}),
}


def disabled(at: Stage) -> None:
    Member.objects.filter(pk=at.cast.bob.pk).update(is_active=False)


def out_of_the_team(at: Stage) -> None:
    set_teams(member=at.cast.bob, teams=[at.cast.finance], actor=ALICE)


def revoked(at: Stage) -> None:
    AgentKey.objects.update(revoked_at=now())


def stopped(at: Stage) -> None:
    Agent.objects.update(stopped_at=now())


def rows() -> dict[str, int]:
    """How many rows there are of everything, except what the loss itself writes."""
    kept = [model for model in apps.get_models() if model.__module__.startswith("reviewhub.")]
    return {model._meta.label: model._default_manager.count() for model in kept}


def once_inside(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> dict[str, int]:
    """`meanwhile` happens right after the door let somebody in; the result counts the rows as they were then."""
    before: dict[str, int] = {}

    def require(*given: Any) -> None:
        permissions.require(*given)
        if not before:
            meanwhile()
            before.update(rows())

    doors = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(DOORS) and getattr(module, "require", None) is permissions.require
    ]
    assert doors
    for door in doors:
        monkeypatch.setattr(door, "require", require)
    return before


@pytest.mark.parametrize("lose", [disabled, out_of_the_team], ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("act", BY_BOB.values(), ids=BY_BOB.keys())
def test_a_person_who_lost_the_right_inside(
    at: Stage, monkeypatch: pytest.MonkeyPatch, act: Act, lose: Callable[[Stage], None]
) -> None:
    before = once_inside(monkeypatch, lambda: lose(at))
    assert act(at).status == 403
    assert before
    assert rows() == before


@pytest.mark.parametrize(
    ("lose", "code"), [(revoked, "forbidden"), (stopped, "agent_stopped")], ids=["revoked", "stopped"]
)
@pytest.mark.parametrize("act", BY_AGENT.values(), ids=BY_AGENT.keys())
def test_an_agent_that_lost_the_right_inside(
    at: Stage, monkeypatch: pytest.MonkeyPatch, act: Act, lose: Callable[[Stage], None], code: str
) -> None:
    before = once_inside(monkeypatch, lambda: lose(at))
    answer = act(at)
    assert (answer.status, answer.code) == (403, code)
    assert before
    assert rows() == before


@pytest.mark.parametrize("verb", ["rewrite", "fork", "fork with changes"])
def test_people_start_nothing_of_a_stopped_agent(at: Stage, verb: str) -> None:
    stopped(at)
    before = rows()
    assert BY_BOB[verb](at).status == 403
    assert rows() == before


def test_an_outcome_is_taken_whatever_became_of_the_agent(at: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    at.agent.consume(at.allowed).ok()
    once_inside(monkeypatch, lambda: stopped(at))
    at.agent.outcome(at.allowed, result=1).ok()


def test_a_disabled_reviewers_vote_that_came_before_is_void(cast: Cast) -> None:
    policy(cast.support, {"name": "Two", "tool": "twice", "action": "require", "approvals": 2})
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    cast.alice.teams.add(cast.support)
    (one,) = agent.pause(agent.run()["id"], call("twice")).ok(201)["tool_calls"]
    bob.decide(one, "approve").ok()
    disable_member(member=cast.bob, actor=ALICE)
    assert PersonHttp(cast.alice).decide(one, "approve").ok()["state"] == "pending"


def test_a_vote_stays_when_its_author_leaves_the_team(cast: Cast) -> None:
    policy(cast.support, {"name": "Two", "tool": "twice", "action": "require", "approvals": 2})
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    cast.alice.teams.add(cast.support)
    (one,) = agent.pause(agent.run()["id"], call("twice")).ok(201)["tool_calls"]
    bob.decide(one, "approve").ok()
    set_teams(member=cast.bob, teams=[], actor=ALICE)
    assert PersonHttp(cast.alice).decide(one, "approve").ok()["state"] == "approved"


# With two connections, which SQLite's one writer does not have.
two_writers = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="one writer at a time: what is read inside is what is so"
)


def waiting_for_locks() -> int:
    with connection.cursor() as cursor:
        # Within a transaction the view is read once.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def until_waiting(many: int) -> None:
    for _ in range(400):
        if waiting_for_locks() >= many:
            return
        time.sleep(0.02)
    raise AssertionError(f"fewer than {many} wait")


def behind(hold: Callable[[], Any], act: Callable[[], Reply], meanwhile: Callable[[], Any]) -> Reply:
    """`act` comes to wait for what `hold` locks; `meanwhile` happens and commits; then the lock is let go."""
    answers: list[Reply] = []

    def run() -> None:
        try:
            answers.append(act())
        finally:
            connection.close()

    with transaction.atomic():
        hold()
        thread = threading.Thread(target=run)
        thread.start()
        until_waiting(1)
        (done,) = together(meanwhile)
        assert not isinstance(done, Exception), done
    thread.join(30)
    return answers[0]


@two_writers
@pytest.mark.django_db(transaction=True)
class TestBehindTheBranchLock:
    @pytest.mark.parametrize(
        ("verb", "lose"),
        [
            ("decide", "disabled"),
            ("decide", "out of the team"),
            ("edit", "disabled"),
            ("claim", "out of the team"),
            ("rewrite", "disabled"),
            ("cancel", "disabled"),
        ],
    )
    def test_a_person(self, verb: str, lose: str) -> None:
        at = Stage.of(make_cast())
        losing: dict[str, Callable[[], Any]] = {
            "disabled": lambda: disable_member(member=at.cast.bob, actor=ALICE),
            "out of the team": lambda: set_teams(member=at.cast.bob, teams=[], actor=ALICE),
        }
        before = rows()
        answer = behind(self._hold, lambda: BY_BOB[verb](at), losing[lose])
        assert answer.status == 403
        after = rows()
        # The loss itself is on record.
        assert after["audit.Event"] == before["audit.Event"] + 1
        written = {name for name, many in after.items() if many != before[name]}
        assert written == {"audit.Event", "audit.EventPayload", "accounts.Member_teams"} & written
        assert Review.objects.filter(request=at.waiting["request"]["id"]).count() == 0

    @pytest.mark.parametrize("verb", ["consume", "pause", "withdraw"])
    def test_a_revoked_key(self, verb: str) -> None:
        at = Stage.of(make_cast())
        key = AgentKey.objects.get()
        answer = behind(self._hold, lambda: BY_AGENT[verb](at), lambda: revoke_key(key=key, actor=ALICE))
        assert (answer.status, answer.code) == (403, "forbidden")
        assert Attempt.objects.count() == 0
        assert ReviewRequest.objects.count() == 2

    @pytest.mark.parametrize("verb", ["consume", "pause", "claim"])
    def test_a_stopped_agent(self, verb: str) -> None:
        at = Stage.of(make_cast())
        answer = behind(self._hold, lambda: BY_AGENT[verb](at), lambda: stopped(at))
        assert (answer.status, answer.code) == (403, "agent_stopped")
        assert Attempt.objects.count() == 0

    def _hold(self) -> None:
        for pk in Branch.objects.order_by("pk").values_list("pk", flat=True):
            lock_branch(pk)


@two_writers
@pytest.mark.django_db(transaction=True)
class TestWhoeverWasFirst:
    def test_a_run_that_started_before_the_stop_is_cancelled_by_it(self) -> None:
        """The start has asked and waits to be written; the stop waits for it, sees its run and ends it."""
        cast = make_cast()
        agent = agent_of(cast.support)
        answers: list[Any] = []

        def run(act: Callable[[], Any]) -> threading.Thread:
            def acting() -> None:
                try:
                    answers.append(act())
                finally:
                    connection.close()

            thread = threading.Thread(target=acting)
            thread.start()
            return thread

        pk = Agent.objects.get().pk
        with transaction.atomic():
            # Without no_key: whoever writes a row that points here waits.
            Workspace.objects.select_for_update().get(pk=cast.workspace.pk)
            starting = run(lambda: agent.post("/runs", {}))
            until_waiting(1)
            stopping = run(lambda: stop(agent_id=pk, reason="it misbehaves", actor=ALICE))
            until_waiting(2)
        starting.join(30)
        stopping.join(30)
        started = next(one for one in answers if isinstance(one, Reply))
        assert started.status == 201
        assert 1 in [one for one in answers if isinstance(one, int)]
        assert Branch.objects.get().state == "cancelled"

    def test_two_who_act_at_once_do_not_wait_for_each_other(self) -> None:
        cast = make_cast()
        at = Stage.of(cast)
        key = AgentKey.objects.select_related("agent").get()
        with transaction.atomic():
            still_may(
                by_key(key),
                Action.RUN_WRITE,
                Target(workspace_id=cast.workspace.pk, agent_id=key.agent_id),
            )
            (other,) = together(lambda: at.agent.post("/runs", {}))
        assert other.status == 201
