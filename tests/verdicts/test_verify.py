"""Webhooks over HTTP: they hold what policy lets run, let it run when they passed it, and count as no yes otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.audit.models import Event
from reviewhub.gates import verify as module
from reviewhub.gates.tasks import verify_due
from reviewhub.gates.verify import due, verify
from reviewhub.policies.publish import publish
from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts.ask import Said
from reviewhub.verdicts.models import Verdict
from reviewhub.verdicts.webhooks import read
from tests.cast import ALICE, Cast
from tests.driver import PersonHttp, agent_of, call, policy
from tests.shared import shared

HOOK = {"name": "Books", "of": "look", "url": "https://books.example/", "gate": True}
YES = Said(status="passed")


class Stage:
    """An agent with a tool that policy lets run."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.http, self.bob = agent_of(cast.support), PersonHttp(cast.bob)
        self.http.put("/tools/look", {"effect": "read"}).ok()
        policy(cast.support, {"name": "Looks", "tool": "look", "action": "allow"})
        self.run = self.http.run()["id"]

    def paused(self, **fields: Any) -> Any:
        (one,) = self.http.pause(self.run, call("look", **fields)).ok()["tool_calls"]
        return one

    def now(self, one: Any) -> Any:
        return self.http.get(f"/tool-calls/{one['id']}").ok()


@shared
def stage(cast: Cast) -> Stage:
    return Stage(cast)


@pytest.fixture
def answers() -> list[Said]:
    """What webhooks answer, one after the other, and then yes."""
    return []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, settings: Any, answers: list[Said]) -> list[Any]:
    """What webhooks are told."""
    settings.VERIFIERS = read(json.dumps([HOOK]))
    told: list[Any] = []

    def ask(**given: Any) -> Said:
        told.append(given | {"body": json.loads(given["body"])})
        return answers.pop(0) if answers else YES

    monkeypatch.setattr(module, "ask", ask)
    return told


def work() -> int:
    return sum(verify(verdict_id=one) for one in due())


def test_what_passed_runs_and_is_asked_for_once(stage: Stage, asked: list[Any]) -> None:
    one = stage.paused()
    assert (one["state"], "Books has to pass it first" in one["because"]["text"]) == ("waiting", True)
    assert work() == 1
    (given,) = asked
    assert (given["private"], given["seconds"], given["body"]["tool"]) == (False, 10, "look")
    assert given["body"]["arguments"] == {"order": "8812", "amount": "10.00"}
    now = stage.now(one)
    assert (now["state"], now["decision"]["by"]["kind"]) == ("allowed", "policy")
    assert stage.http.consume(now).ok()
    assert (work(), len(asked)) == (0, 1)
    assert Event.objects.filter(kind="verdict.given").count() == 1


@pytest.mark.parametrize("status", ["failed", "error", "timed_out"])
def test_anything_else_is_for_people_and_shown(
    stage: Stage, asked: list[Any], answers: list[Said], status: str
) -> None:
    answers.append(Said(status=status, detail="Not so"))
    one = stage.paused()
    assert work() == 1
    assert stage.now(one)["state"] == "waiting"
    slug = stage.bob.member.workspace.slug
    page = stage.bob.client.get(f"/{slug}/requests/{one['request']['number']}").content.decode()
    assert "by a webhook" in page
    stage.bob.decide(one, "approve").ok()
    assert stage.http.consume(one).ok()


LOOKS = {"name": "Looks", "tool": "look", "action": "allow"}


@pytest.mark.parametrize(
    ("action", "gate", "state"),
    [
        ("require", False, "waiting"),
        ("deny", False, "waiting"),
        ("allow", True, "waiting"),
        ("allow", False, "allowed"),
    ],
)
def test_a_rule_makes_a_gate_of_a_webhook_and_lifts_none_of_the_settings(
    stage: Stage, asked: list[Any], settings: Any, action: str, gate: bool, state: str
) -> None:
    settings.VERIFIERS = read(json.dumps([HOOK | {"gate": gate}]))
    policy(stage.cast.support, LOOKS, {"name": "Books", "tool": "rh.verdict/Books", "action": action})
    one = stage.paused()
    assert one["state"] == state
    assert work() == 1
    assert stage.now(one)["state"] == "allowed"


def test_it_frees_nothing_that_waits_for_more(stage: Stage, asked: list[Any]) -> None:
    stricter = stage.paused()
    policy(stage.cast.support, {"name": "Held", "tool": "look", "action": "require"})
    assert work() == 1
    assert stage.now(stricter)["state"] == "waiting"
    stage.bob.decide(stricter, "reject", message="Not now.").ok()
    policy(stage.cast.support, {"name": "Looks", "tool": "look", "action": "allow"})
    failing = stage.paused(checks=[{"name": "Sum", "status": "failed"}])
    assert work() == 1
    assert stage.now(failing)["state"] == "waiting"
    stage.bob.decide(failing, "reject", message="Not now.").ok()
    faster = stage.paused()
    stage.bob.decide(faster, "reject", message="Not now.").ok()
    assert work() == 1
    assert stage.now(faster)["state"] == "denied"


def test_a_result_is_judged_once_and_given_up_when_workers_die_at_it(
    stage: Stage, asked: list[Any], settings: Any
) -> None:
    settings.VERIFIERS = read(json.dumps([HOOK | {"judges": "result", "gate": False}]))
    one = stage.paused()
    assert one["state"] == "allowed"
    stage.http.consume(one).ok()
    for _ in range(2):
        stage.http.outcome(one, result={"sum": "1.50"}).ok()
    row = Verdict.objects.get()
    Verdict.objects.update(attempts=3)
    assert work() == 1
    row.refresh_from_db()
    assert (row.judges, row.status, asked) == ("result", "error", [])
    assert ToolCall.objects.get().result == '{"sum":"1.50"}'


def test_a_webhook_passes_nothing_that_a_limit_or_people_hold(
    stage: Stage, cast: Cast, asked: list[Any]
) -> None:
    version = policy(cast.support)
    rules = {"rules": [{"name": "Looks", "tool": "look", "action": "allow"}]}
    limit = {"name": "One", "tool": "look", "most": 1, "window_seconds": 60}
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({**rules, "limits": [limit]}),
        note="n",
        base=version.number,
        actor=ALICE,
    )
    first = stage.paused()
    run = stage.http.run()["id"]
    (second,) = stage.http.pause(run, call("look")).ok()["tool_calls"]
    for verdict_id in due():
        verify(verdict_id=verdict_id)
    assert stage.now(first)["state"] == "allowed"
    assert (stage.now(second)["state"], stage.now(second)["because"]["kind"]) == ("waiting", "limit")


def test_one_that_breaks_keeps_no_other_from_being_asked(
    stage: Stage, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stage.paused()
    stage.run = stage.http.run()["id"]
    second = stage.paused()
    real = module.ask
    broken = str(Verdict.objects.get(tool_call=first["id"]).pk)

    def ask(**given: Any) -> Said:
        if given["key"] == broken:
            raise RuntimeError("broken")
        return real(**given)

    monkeypatch.setattr(module, "ask", ask)
    assert verify_due() == 1
    assert [stage.now(one)["state"] for one in (first, second)] == ["waiting", "allowed"]
