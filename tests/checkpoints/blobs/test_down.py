"""A store that is slow or down delays no save, no pause, no decision, no outcome and no page; it is not even asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviewhub.audit.signals import Recorded
from reviewhub.celery import app
from reviewhub.checkpoints.blobs.nudge import nudge
from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.blobs.sweep import sweep
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import LARGE_BYTES, Blob, Checkpoint
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.checkpoints.blobs.conftest import ADDRESSED, Store, forget, noise, state
from tests.checkpoints.conftest import put
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def large(seed: int) -> dict[str, Any]:
    return {"doc": noise(seed), "messages": [{"role": "user", "content": "hello"}]}


def test_a_run_goes_its_way_without_the_store(cast: Cast, agent: AgentHttp, store: Store) -> None:
    store.is_down = True
    run = agent.run()
    bob = PersonHttp(cast.bob)
    pages = [f"/northwind/runs/{run['id']}", "/northwind/queue"]

    def as_another_process() -> None:
        assert store.asked == []
        forget()
        assert sweep() == 0
        store.asked.clear()

    agent.post(f"/runs/{run['id']}/checkpoints", {"state": large(1)}).ok(201)
    as_another_process()
    checkpoint = {"state": large(2)}
    paused = agent.post(f"/runs/{run['id']}/pauses", {"checkpoint": checkpoint, "tool_calls": [call()]}).ok(
        201
    )
    (one,) = paused["tool_calls"]
    as_another_process()
    for page in [*pages, f"/northwind/requests/{one['request']['number']}"]:
        assert bob.client.get(page, follow=True).status_code == 200, page
    agent.get(f"/pauses/{paused['id']}").ok()
    as_another_process()
    bob.decide(one, "approve").ok()
    as_another_process()
    agent.consume(one).ok()
    as_another_process()
    body = {"status": "succeeded", "result": {"ok": True}, "checkpoint": {"state": large(3)}}
    saved = agent.post(f"/tool-calls/{one['id']}/outcome", body).ok()
    as_another_process()
    head = Checkpoint.objects.get(pk=saved["checkpoint"]["id"])
    hints = {"parent": str(head.pk), "parent_hash": head.state_hash, "unchanged": ["doc", "messages"]}
    agent.post(f"/runs/{run['id']}/checkpoints", {**hints, "changed": {"n": 1}}).ok(201)
    as_another_process()
    branch = Branch.objects.get(run=run["id"])
    agent.post(f"/branches/{branch.pk}/finish", {"checkpoint": {"state": large(4)}, "result": None}).ok()
    assert store.asked == []


@pytest.fixture
def moved(agent: AgentHttp, store: Store) -> tuple[Any, Any]:
    """A run that ended, whose last state is partly in the store, which is down by now."""
    run = agent.run()
    saved = agent.post(f"/runs/{run['id']}/checkpoints", {"state": large(1)}).ok(201)
    agent.post(f"/branches/{Branch.objects.get(run=run['id']).pk}/finish", {"result": None}).ok()
    assert relocate(run_id=run["id"]) == 1
    forget()
    store.is_down = True
    return run, saved


def test_what_is_there_is_told_to_be_there_later(
    cast: Cast, agent: AgentHttp, store: Store, moved: tuple[Any, Any]
) -> None:
    run, saved = moved
    reply = agent.get(f"/checkpoints/{saved['id']}")
    assert (reply.status, reply.code, reply.headers["Retry-After"]) == (503, "try_again", "1")
    assert "blob store" in reply.json["detail"]
    assert agent.get(f"/runs/{run['id']}").status == 200
    reply = agent.post(f"/checkpoints/{saved['id']}/fork", {})
    assert (reply.status, reply.code) == (503, "try_again")
    assert Branch.objects.filter(run=run["id"]).count() == 1
    client = PersonHttp(cast.bob).client
    for page in (
        f"/northwind/runs/{run['id']}?checkpoint={saved['id']}",
        f"/northwind/checkpoints/{saved['id']}",
        f"/northwind/checkpoints/{saved['id']}/trace?path=/doc",
    ):
        shown = client.get(page)
        assert (shown.status_code, "does not answer just now" in shown.content.decode()) == (200, True), page
    assert client.get(f"/northwind/runs/{run['id']}/history").status_code == 200
    assert Branch.objects.get(run=run["id"]).state == "succeeded"
    store.is_down = False
    forget()
    assert agent.get(f"/checkpoints/{saved['id']}").ok()["state"] == large(1)


def test_an_outcome_is_kept_when_its_checkpoint_cannot_be(cast: Cast, agent: AgentHttp, store: Store) -> None:
    """It stands on an older state, which has moved: what happened is taken all the same, and the rest is for later."""
    run = agent.run()
    agent.post(f"/runs/{run['id']}/checkpoints", {"state": large(1)}).ok(201)
    (one,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    old = Checkpoint.objects.get(run=run["id"], number=1)
    Branch.objects.filter(run=run["id"]).update(state="cancelled")
    assert relocate(run_id=old.run_id) == 1
    forget()
    store.is_down = True
    hints = {"parent": str(old.pk), "parent_hash": old.state_hash, "unchanged": ["doc"]}
    body = {"status": "succeeded", "result": {"ok": True}, "checkpoint": hints}
    assert agent.post(f"/tool-calls/{one['id']}/outcome", body).code == "try_again"
    assert ToolCall.objects.get(pk=one["id"]).state == "succeeded"


def test_a_slow_store_is_asked_once_for_all(branch: Branch, store: Store, monkeypatch: Any) -> None:
    fast = store.get_many
    monkeypatch.setattr(store, "get_many", lambda keys: (time.sleep(0.035), fast(keys))[1])
    saved = put(branch, "{" + ",".join(f'"{name}":"{noise(name)}"' for name in range(9)) + "}")
    Branch.objects.update(state="succeeded")
    assert relocate(run_id=branch.run_id) == 9
    forget()
    store.asked.clear()
    assert len(load(Checkpoint.objects.get(pk=saved.pk))) > 9 * 60_000
    assert store.asked == ["get"]


@pytest.mark.parametrize("kind", ADDRESSED)
def test_every_store_takes_a_run_and_gives_it_back(
    branch: Branch, kind: str, address: Callable[[str], str], settings: Any
) -> None:
    settings.BLOB_STORES = {"main": address(kind)}
    settings.BLOB_LARGE_BYTES = LARGE_BYTES
    saved = put(branch, state(1))
    Branch.objects.update(state="succeeded")
    forget()
    assert relocate(run_id=branch.run_id) == 1
    assert Blob.objects.filter(data__isnull=True).count() == 1
    forget()
    assert load(Checkpoint.objects.get(pk=saved.pk)) == state(1)


def ended(branch: Branch, kind: str = "run.ended") -> Recorded:
    of = {"workspace_id": branch.workspace_id, "run_id": branch.run_id}
    none = dict.fromkeys(("pause_id", "request_id", "agent_id", "subject_id"))
    return Recorded(id=1, kind=kind, **of, **none)


def test_the_end_of_a_run_is_a_hint(branch: Branch, store: Store, settings: Any, monkeypatch: Any) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("reviewhub.checkpoints.tasks.move_blobs.delay", lambda **given: sent.append(given))
    nudge(event=ended(branch, "run.finished"))
    nudge(event=ended(branch))
    assert sent == [{"run_id": str(branch.run_id)}]
    settings.BLOB_STORES = {}
    nudge(event=ended(branch))
    assert len(sent) == 1


def test_the_tasks_are_there_and_take_a_store_that_is_down(branch: Branch, store: Store) -> None:
    put(branch, state(1))
    Branch.objects.update(state="succeeded")
    store.is_down = True
    tasks = app.tasks
    assert tasks["reviewhub.checkpoints.tasks.move_blobs"](run_id=str(branch.run_id)) == 0
    assert tasks["reviewhub.checkpoints.tasks.sweep_blobs"]() == 0
    store.is_down = False
    assert tasks["reviewhub.checkpoints.tasks.move_blobs"](run_id=str(branch.run_id)) == 1


def said(capsys: pytest.CaptureFixture[str]) -> str:
    call_command("blobs")
    return capsys.readouterr().out


def test_an_admin_sees_how_it_stands(branch: Branch, store: Store, settings: Any, capsys: Any) -> None:
    settings.BLOB_STORES = {"main": "redis://:SECRET@cold:6379/1"}
    put(branch, state(1))
    Branch.objects.update(state="succeeded")
    branch.run.state = "succeeded"
    branch.run.save()
    assert "1 blob (" in said(capsys)
    store.is_down = True
    sweep()
    with pytest.raises(CommandError, match="main has failed since .*: it does not answer"):
        call_command("blobs")
    assert "SECRET" not in capsys.readouterr().out
    store.is_down = False
    sweep()
    told = said(capsys)
    assert "main (redis://cold:6379/1): 1 blob" in told
    assert "To be moved: 0 blobs (0 bytes)" in told


def test_without_a_store_it_says_so(db: None, settings: Any, capsys: Any) -> None:
    settings.BLOB_STORES = {}
    assert "BLOB_STORES" in said(capsys)
