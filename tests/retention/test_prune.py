"""What a rule takes from a run, what it must leave, and that everything that stays reads as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reviewhub_agents import canonical, wire

from reviewhub.audit.models import Event
from reviewhub.checkpoints import recall
from reviewhub.checkpoints.blame import blame
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.find import find
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import CheckpointRemoved, load
from reviewhub.checkpoints.models import Blob, Checkpoint, Hold, Pin, Removal, Tombstone
from reviewhub.checkpoints.queries import removed_of
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.hosting.models import Record
from reviewhub.retention.estimate import estimate
from reviewhub.retention.models import Progress
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.checkpoints.conftest import read
from tests.checkpoints.test_damage import damage
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.retention.conftest import age, grow, numbers, rule
from tests.shared import shared


def test_nothing_goes_before_it_is_time(branch: Branch) -> None:
    grow(branch, 10)
    assert prune(run_id=branch.run_id).is_nothing
    age(29)
    assert prune(run_id=branch.run_id).is_nothing
    assert numbers(branch) == list(range(1, 11))
    assert Progress.objects.get().seen_at is not None


def test_after_a_month_manifests_stay_and_what_the_head_stands_on(branch: Branch) -> None:
    texts = {row.number: read(row) for row in grow(branch, 10)}
    age(30)
    expected = estimate(branch.run)
    assert prune(run_id=branch.run_id) == expected
    assert numbers(branch) == [1, 5, 9, 10]
    recall.forget_all()
    for row in Checkpoint.objects.all():
        assert load(row) == texts[row.number]
    # The blobs of what went are gone, too: left are the shared text and those of the four.
    assert (expected.checkpoints, expected.blobs) == (6, 6)
    assert Blob.objects.count() == 5
    assert expected.bytes > 6 * 20


def test_the_record_and_the_tombstones_say_what_went(branch: Branch) -> None:
    hashes = {row.number: (row.id, row.state_hash) for row in grow(branch, 10)}
    age(30)
    prune(run_id=branch.run_id)
    assert {row.number: (row.id, row.state_hash) for row in Tombstone.objects.all()} == {
        number: hashes[number] for number in (2, 3, 4, 6, 7, 8)
    }
    first, second = Event.objects.filter(kind="run.pruned").order_by("id")
    body = json.loads(first.payload.body)
    removal = Removal.objects.select_related("end").order_by("created_at").first()
    assert removal is not None
    assert body["data"] == {
        "title": str(branch.run),
        "rule": '{"thin_days":30}',
        "removal": str(removal.pk),
        "checkpoints": 6,
        "blobs": 0,
        "bytes": removal.end.bytes,
        "digest": removal.end.digest,
    }
    assert "removed 6 checkpoints and 0 blobs" in first.payload.sentence
    assert "removed 0 checkpoints and 6 blobs" in second.payload.sentence
    (gone,) = removed_of(branch.run_id)
    assert (gone.branch, gone.first, gone.last, gone.count, gone.removal) == ("main", 2, 8, 6, removal)
    assert [row.number for row in history(branch=branch).rows] == [10, 9, 5, 1]


def test_who_asks_for_a_removed_one_is_told(branch: Branch) -> None:
    row = grow(branch, 10)[2]
    age(30)
    prune(run_id=branch.run_id)
    recall.forget_all()
    with pytest.raises(CheckpointRemoved) as raised:
        load(row)
    assert raised.value.extra["hash"] == row.state_hash
    assert raised.value.extra["because"] == "thin after 30 days"
    with pytest.raises(CheckpointRemoved):
        fork(checkpoint=row, name=None, changes=[], reason="", actor=SYSTEM)
    with pytest.raises(CheckpointRemoved):
        draft(branch=branch, message=wire.CheckpointIn.from_tree({"id": str(row.id)}))


def test_blame_and_find_go_on_over_gaps(branch: Branch) -> None:
    grow(branch, 10)
    age(30)
    prune(run_id=branch.run_id)
    head = Checkpoint.objects.get(number=10)
    found = blame(checkpoint=head, path="/same").checkpoint
    assert found is not None and found.number == 1
    seen = find(checkpoint=head, path="/n", value=canonical.parse("5"))
    assert seen.introduced is not None and seen.introduced.number == 5
    assert seen.lost is not None and seen.lost.number == 9


def test_branch_points_and_heads_of_ended_branches_stay(branch: Branch) -> None:
    rows = grow(branch, 10)
    other, _ = fork(checkpoint=rows[5], name="other", changes=[], reason="", actor=SYSTEM)
    Branch.objects.update(state="succeeded")
    rule(branch.run, max_age_days=0, keep_last=1)
    prune(run_id=branch.run_id)
    # 6 was forked and stands on 5; 9 and 10 are what the head is made of.
    assert numbers(branch) == [5, 6, 9, 10]
    assert numbers(other) == [1]


def test_a_pin_keeps_its_checkpoint_and_a_hold_everything(branch: Branch) -> None:
    rows = grow(branch, 10)
    rule(branch.run, max_age_days=0)
    Hold.objects.create(run=branch.run, reason="a lawsuit", by_name="Carol")
    assert estimate(branch.run).is_nothing
    assert prune(run_id=branch.run_id).is_nothing
    Hold.objects.all().delete()
    Pin.objects.create(checkpoint=rows[2], run=branch.run, reason="the bug", by_name="Bob")
    assert prune(run_id=branch.run_id).checkpoints == 5
    assert numbers(branch) == [1, 2, 3, 9, 10]


def test_of_an_ended_run_everything_goes_but_what_somebody_pinned(branch: Branch) -> None:
    rows = grow(branch, 10)
    Record.objects.create(workspace_id=branch.workspace_id, branch=branch, key="k", value="1", digest="d")
    rule(branch.run, delete_days=7)
    assert prune(run_id=branch.run_id).is_nothing
    Branch.objects.update(state="succeeded")
    Run.objects.update(state="succeeded", ended_at=rows[-1].created_at)
    age(7)
    pin = Pin.objects.create(checkpoint=rows[4], run=branch.run, reason="the bug", by_name="Bob")
    prune(run_id=branch.run_id)
    assert numbers(branch) == [5]
    assert Record.objects.exists()
    pin.delete()
    prune(run_id=branch.run_id)
    assert numbers(branch) == []
    assert not Blob.objects.exists() and not Record.objects.exists()
    assert history(branch=branch).rows == []


def test_a_quarantined_run_has_not_ended(branch: Branch) -> None:
    rows = grow(branch, 2)
    Branch.objects.update(state="quarantined")
    Run.objects.update(state="quarantined", ended_at=rows[-1].created_at)
    rule(branch.run, delete_days=0, decided_days=0)
    assert prune(run_id=branch.run_id).is_nothing


def test_the_blobs_of_a_damaged_run_stay(branch: Branch) -> None:
    rows = grow(branch, 10)
    age(30)
    damage(Checkpoint.objects.filter(pk=rows[0].pk), content=b"\x09")
    blobs = Blob.objects.count()
    expected = estimate(branch.run)
    assert (expected.checkpoints, expected.blobs) == (6, 0)
    assert prune(run_id=branch.run_id) == expected
    assert Blob.objects.count() == blobs
    assert Progress.objects.get().blobs_due


def test_it_goes_in_small_transactions_and_on_after_a_fault(branch: Branch, settings: Any) -> None:
    settings.RETENTION_BATCH_ROWS = 2
    texts = {row.number: read(row) for row in grow(branch, 10)}
    age(30)
    left = []
    while not estimate(branch.run).is_nothing:
        there = (Checkpoint.objects.count(), Blob.objects.count())
        for point in ("prune.before_commit", "prune.after_commit"):
            assert (Checkpoint.objects.count(), Blob.objects.count()) == there
            with faults.armed(point), pytest.raises(faults.Fault):
                prune(run_id=branch.run_id)
        recall.forget_all()
        for row in Checkpoint.objects.all():
            assert load(row) == texts[row.number]
        left.append((Checkpoint.objects.count(), Blob.objects.count()))
    assert left == [(8, 11), (6, 11), (4, 11), (4, 9), (4, 7), (4, 5)]
    assert prune(run_id=branch.run_id).is_nothing
    assert not Progress.objects.get().blobs_due


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def saved(agent: AgentHttp, run: str, count: int) -> None:
    for number in range(count):
        agent.post(f"/runs/{run}/checkpoints", {"state": {"n": number}}).ok(201)


def pruned(run: str) -> list[int]:
    """What is left of the branch main when a rule takes whatever nothing needs."""
    row = Run.objects.get(pk=run)
    rule(row, max_age_days=0, decided_days=0, delete_days=0)
    prune(run_id=row.pk)
    return numbers(Branch.objects.get(run=row, name="main"))


def test_the_checkpoint_of_a_pause_stays_and_the_run_goes_on_from_it(agent: AgentHttp, cast: Cast) -> None:
    run = agent.run()["id"]
    saved(agent, run, 5)
    paused = agent.pause(run, call()).ok(201)
    (one,) = paused["tool_calls"]
    assert pruned(run) == [5, 6]
    PersonHttp(cast.bob).decide(one, "approve").ok()
    assert pruned(run) == [5, 6]
    agent.consume(one).ok()
    agent.outcome(one, checkpoint={"state": {"n": 7}}).ok()
    saved(agent, run, 9)
    # People decided at 6: it stays as long as the run does.
    assert pruned(run) == [5, 6, 13, 14, 15, 16]
    shown = agent.get(f"/pauses/{paused['id']}").ok()
    branch = Branch.objects.get(run=run)
    agent.post(f"/branches/{branch.pk}/finish", {}).ok()
    assert pruned(run) == []
    assert agent.get(f"/pauses/{paused['id']}").ok()["checkpoint"] == shown["checkpoint"]
    gone = agent.get(f"/checkpoints/{shown['checkpoint']['id']}")
    assert (gone.status, gone.code, gone.json["hash"]) == (
        410,
        "checkpoint_removed",
        shown["checkpoint"]["hash"],
    )
    assert agent.get(f"/runs/{run}").ok()["state"] == "succeeded"
    assert agent.get(f"/runs/{run}/checkpoints").ok()["items"] == []


@pytest.mark.parametrize("state", ["proposed", "waiting", "allowed", "started", "unknown"])
def test_a_call_that_is_not_over_keeps_its_checkpoint(agent: AgentHttp, state: str) -> None:
    run = agent.run()["id"]
    agent.pause(run, call("mail"), call("refund")).ok(201)
    agent.post(f"/runs/{run}/cancel").ok()
    assert ToolCall.objects.filter(state="skipped").count() == 2
    one = ToolCall.objects.first()
    assert one is not None
    ToolCall.objects.filter(pk=one.pk).update(state=state, attempt=1)
    assert pruned(run) == [1]
    ToolCall.objects.filter(pk=one.pk).update(state="succeeded")
    assert pruned(run) == []


def test_a_stranger_learns_nothing_of_a_removed_one(agent: AgentHttp, cast: Cast) -> None:
    run = agent.run()["id"]
    saved(agent, run, 9)
    first = Checkpoint.objects.get(number=1)
    assert pruned(run) == [9]
    other = agent_of(cast.finance, "Other")
    assert other.get(f"/checkpoints/{first.pk}").status == 404
    assert agent.get(f"/checkpoints/{first.pk}").status == 410
    assert agent.post(f"/checkpoints/{first.pk}/fork", {"reason": "again"}).status == 410


def test_a_repeat_after_the_removal_is_told(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    agent.post(f"/runs/{run}/checkpoints", {"state": {"n": 0}}, key="same").ok(201)
    saved(agent, run, 8)
    assert pruned(run) == [9]
    again = agent.post(f"/runs/{run}/checkpoints", {"state": {"n": 0}}, key="same")
    assert (again.status, again.code) == (410, "checkpoint_removed")
