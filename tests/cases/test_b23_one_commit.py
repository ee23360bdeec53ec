"""B23: a tool's result, the checkpoint after it and the state of the step are one commit.

Elsewhere two threads wrote them: which came first before a crash decided whether the tool ran again, and a snapshot
without its links hung a run for good. Here a process is killed at every boundary of such a write.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.gates.tasks import sweep_unknown
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import Attempt, Pause, ToolCall
from tests.cases.conftest import Exec
from tests.cases.dying import dies_at
from tests.driver import AgentHttp, PersonHttp, call

pytestmark = [pytest.mark.servers, pytest.mark.django_db(transaction=True)]
STATE = {"log": ["x" * 600, "y" * 20_000], "step": 1}
"""Has parts that become blobs."""


def allowed(agent: AgentHttp, reviewer: PersonHttp) -> Any:
    """A call that a person has approved."""
    run = agent.run()
    (waits,) = agent.pause(run["id"], call()).ok()["tool_calls"]
    reviewer.decide(waits, "approve").ok()
    return agent.get(f"/tool-calls/{waits['id']}").ok()


def kept(branch: Branch) -> tuple[Any, int, int, int, int]:
    """What is there of a branch's work, and every checkpoint of it can be read."""
    recall.forget_all()
    branch.refresh_from_db()
    rows = list(Checkpoint.objects.filter(branch=branch))
    assert all(load(row) for row in rows)
    return (
        branch.head,
        len(rows),
        Blob.objects.filter(run=branch.run_id).count(),
        Pause.objects.filter(branch=branch).count(),
        ReviewRequest.objects.filter(run=branch.run_id).count(),
    )


def test_b23_b_c_killed_within_or_after_the_write_of_an_outcome(
    agent: AgentHttp, reviewer: PersonHttp
) -> None:
    """The same outcome again and again, each time killed one boundary later: nothing at all is there, until all is."""
    now = allowed(agent, reviewer)
    agent.consume(now).ok()
    row = ToolCall.objects.get(pk=now["id"])
    before, told = kept(row.branch), []
    body = {"status": "succeeded", "result": {"paid": 1}, "checkpoint": {"state": STATE}}
    boundary, died = 0, True
    while died:
        boundary += 1
        path = f"/tool-calls/{row.pk}/outcome"
        died = dies_at(boundary, token=agent.token, path=path, body=body, key=f"key {boundary}")
        row.refresh_from_db()
        after = kept(row.branch)
        told.append(after != before)
        assert (row.state == "succeeded") == told[-1] == (after[1] == before[1] + 1)
        assert after == before or (after[0] != before[0] and after[2] > before[2])
    # Nothing, nothing …, all. At least once it died with all written: between the commit and the answer.
    assert told == sorted(told)
    assert told.count(False) > 10
    assert told.count(True) >= 2
    assert Attempt.objects.filter(tool_call=row).count() == 1
    assert Checkpoint.objects.filter(branch=row.branch).count() == before[1] + 1


def test_b23_a_killed_between_the_tool_and_the_write_is_for_a_person(
    agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    now = allowed(agent, reviewer)
    agent.consume(now).ok()
    tool.ran.append("it ran")
    body = {"status": "succeeded", "result": 1, "checkpoint": {"state": STATE}}
    assert dies_at(1, token=agent.token, path=f"/tool-calls/{now['id']}/outcome", body=body, key="k")
    overdue(now)
    assert agent.get(f"/tool-calls/{now['id']}").ok()["state"] == "unknown"
    for _ in range(3):
        assert not tool.attempt(now)
        sweep_unknown()
    assert len(tool.ran) == 1
    asked = ReviewRequest.objects.get(tool_call=now["id"], state="pending")
    assert asked.kind == ReviewRequest.Kind.UNKNOWN


def test_b23_a_lost_call_that_nobody_can_be_asked_about_keeps_no_other_from_people(
    agent: AgentHttp, reviewer: PersonHttp
) -> None:
    broken, whole = (ToolCall.objects.get(pk=allowed(agent, reviewer)["id"]) for _ in range(2))
    for row in (broken, whole):
        agent.consume({"id": str(row.pk), "digest": row.digest}).ok()
        row.refresh_from_db()
        ToolCall.objects.filter(pk=row.pk).update(started_at=row.started_at - timedelta(days=30))
    # What it was called is not a tool any more: to ask about it fails.
    ToolCall.objects.filter(pk=broken.pk).update(tool_name="gone")
    assert sweep_unknown() == 1
    states = [ToolCall.objects.get(pk=row.pk).state for row in (broken, whole)]
    assert states == ["started", "unknown"]


def overdue(shown: Any) -> None:
    """Lets the time that the tool has for the call pass."""
    rows = ToolCall.objects.filter(pk=shown["id"])
    rows.update(started_at=rows.get().started_at - timedelta(days=30))
    assert sweep_unknown() == 1


@pytest.mark.parametrize("what", ["checkpoints", "pauses"])
def test_b23_killed_within_a_save_or_a_pause(agent: AgentHttp, what: str) -> None:
    run = agent.run()
    branch = Branch.objects.get(run=run["id"])
    body: dict[str, Any] = {"state": STATE}
    if what == "pauses":
        body = {"checkpoint": body, "tool_calls": [call(), call("refund", "call_2")]}
    before, told = kept(branch), []
    boundary, died = 1, True
    while died:
        died = dies_at(
            boundary, token=agent.token, path=f"/runs/{run['id']}/{what}", body=body, key="one key"
        )
        after = kept(branch)
        told.append(after != before)
        whole = (1, 1 if what == "pauses" else 0, 2 if what == "pauses" else 0)
        assert after == before or (after[0] is not None and (after[1], after[3], after[4]) == whole)
        assert (branch.state == "paused") == (told[-1] and what == "pauses")
        boundary += 1 if what == "checkpoints" else 5
    # With its key, the request that was not answered can be sent again: it does nothing twice.
    assert told == sorted(told)
    assert told[-1]
    assert told.count(False) > 5
