"""Hosted runs inside one process: pause, decide, go on; errors, leases, quarantine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import transaction

from reviewhub.accounts.permissions import AgentStopped
from reviewhub.audit.models import Event
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid
from reviewhub.core.faults import Fault
from reviewhub.gates.cancel import cancel
from reviewhub.hosting.rescue import rescue
from reviewhub.hosting.resume import resume
from reviewhub.hosting.retry import retry
from reviewhub.hosting.start import start
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Pause, ToolCall
from tests.hosting.conftest import Hosted, run_out
from tests.runtime.agent import GraphError, ToolError


def states(run: Run) -> tuple[str, str]:
    """State of the run and of its only branch."""
    run.refresh_from_db()
    return run.state, Branch.objects.get(run=run).state


def test_from_start_to_end(hosted: Hosted) -> None:
    run = hosted.start(amount="25.00")
    assert states(run) == ("running", "running")
    assert hosted.work() == 1
    assert states(run) == ("paused", "paused")
    assert hosted.world.done == [("read", "8812")]
    assert hosted.work() == 0
    hosted.decide("approve")
    assert states(run) == ("running", "resuming")
    assert hosted.work() == 1
    assert states(run) == ("succeeded", "succeeded")
    assert hosted.world.done == [("read", "8812"), ("pay", "25.00"), ("mail", "paid")]
    assert run.result == '"done 25.00 1"'
    assert sorted(Resumption.objects.values_list("state", flat=True)) == ["done", "done"]
    branch = Branch.objects.get()
    assert branch.lease_until is None
    nodes = list(Checkpoint.objects.order_by("number").values_list("node", "step"))
    assert nodes == [("look", 0), ("refund", 1), ("end", 2)]
    assert json.loads(load(Checkpoint.objects.order_by("-number")[0]))["steps"] == ["look", "refund"]


def test_an_edited_amount_runs_and_a_rejection_does_not(hosted: Hosted) -> None:
    hosted.start()
    hosted.work()
    hosted.decide("edit", changes=[{"op": "set", "path": "/text", "value": "7.50"}])
    hosted.work()
    assert ("pay", "7.50") in hosted.world.done
    run = hosted.start()
    hosted.work()
    hosted.decide("reject", message="too much")
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert run.result == '"refused None 4 too much"'


def test_a_second_worker_finds_nothing(hosted: Hosted) -> None:
    hosted.start()
    pk = Resumption.objects.get().pk
    with faults.armed("resume.after_claim"), pytest.raises(Fault):
        resume(resumption_id=pk, owner="first")
    assert not resume(resumption_id=pk, owner="second")
    run_out()
    assert resume(resumption_id=pk, owner="second")
    assert ToolCall.objects.filter(tool_name="read").count() == 1


@pytest.mark.parametrize(
    "point",
    ["consume.before_commit", "consume.after_commit", "outcome.before_commit", "outcome.after_commit"],
)
def test_dead_around_a_once_call_nothing_happens_twice(hosted: Hosted, point: str) -> None:
    """The process dies there (the fault unwinds like a death: nothing after it runs)."""
    run = hosted.start()
    hosted.work()
    hosted.decide("approve")

    class Death(BaseException):
        pass

    def die() -> None:
        raise Death

    with faults.armed(point, die), pytest.raises(Death):
        hosted.work()
    run_out()
    hosted.work()
    paid = hosted.world.done.count(("pay", "10.00"))
    if point in {"consume.after_commit", "outcome.before_commit"}:
        assert states(run) == ("paused", "paused")
        assert hosted.request().kind == "unknown"
        hosted.decide("happened", value={"did": "seen"}) if paid else hosted.decide("did_not_happen")
        hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert hosted.world.done.count(("pay", "10.00")) == 1
    assert hosted.world.done.count(("mail", "paid")) == 1


def test_an_error_of_the_agent_is_tried_again_later(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.world.breaks["model"] = [ConnectionError("provider is down")]
    hosted.work()
    row = Resumption.objects.get()
    kept = row.failures.get()
    assert (row.state, kept.attempt, kept.error) == ("queued", 1, "ConnectionError: provider is down")
    assert kept.owner == "worker" and kept.again_at == row.due_at
    assert Branch.objects.get().lease_until is None
    assert hosted.work() == 0
    run_out()
    assert hosted.work() == 1
    assert states(run) == ("paused", "paused")
    # What the first attempt had done is found again.
    assert hosted.world.done == [("read", "8812")]
    assert ToolCall.objects.filter(tool_name="read").count() == 1


def test_after_too_many_attempts_it_is_set_aside_until_a_person_says_so(
    hosted: Hosted, settings: Any
) -> None:
    settings.RESUME_ATTEMPTS = 3
    run = hosted.start()
    for _ in range(3):
        assert states(run) == ("running", "running")
        hosted.world.breaks["model"] = [ConnectionError("provider is down")]
        hosted.work()
        run_out()
    assert states(run) == ("quarantined", "quarantined")
    assert run.error == "ConnectionError: provider is down"
    assert Resumption.objects.get().state == "failed"
    event = Event.objects.get(kind="run.quarantined")
    assert event.payload.sentence == (
        "The run was set aside after 3 attempts: ConnectionError: provider is down"
    )
    assert hosted.work() == 0
    retry(branch_id=Branch.objects.get().pk, reason="the provider is back", actor=SYSTEM)
    said = Event.objects.get(kind="run.retried").payload.sentence
    assert said == "system lets the run try again: the provider is back"
    assert states(run) == ("running", "running")
    hosted.work()
    assert states(run) == ("paused", "paused")


def test_workers_that_die_of_it_again_and_again_set_it_aside(hosted: Hosted, settings: Any) -> None:
    settings.RESUME_ATTEMPTS = 2
    run = hosted.start()
    for _ in range(2):
        with faults.armed("resume.after_claim"), pytest.raises(Fault):
            hosted.work()
        run_out()
    hosted.work()
    assert states(run) == ("quarantined", "quarantined")
    assert hosted.world.done == []


def test_what_cannot_work_is_set_aside_at_once(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.world.breaks["model"] = [GraphError("put together wrongly")]
    hosted.work()
    assert states(run) == ("quarantined", "quarantined")
    assert Resumption.objects.get().attempts == 1


def test_a_failed_tool_is_a_result_and_no_error(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    hosted.decide("approve")
    hosted.world.breaks["pay"] = [ToolError("the bank is closed")]
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert run.result == '"failed None 1"'


def test_cancelled_while_it_waits_nobody_runs_it_on(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    cancel(run_id=run.pk, reason="no longer needed", actor=SYSTEM)
    assert hosted.work() == 0
    assert states(run) == ("cancelled", "cancelled")


def test_cancelled_between_decision_and_worker(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    hosted.decide("approve")
    cancel(run_id=run.pk, reason="no longer needed", actor=SYSTEM)
    assert hosted.work() == 0
    assert hosted.world.done == [("read", "8812")]


def test_what_nothing_would_wake_is_found(hosted: Hosted) -> None:
    run = hosted.start()
    Resumption.objects.all().delete()
    assert rescue() == 1
    assert rescue() == 0
    hosted.work()
    assert states(run) == ("paused", "paused")
    hosted.decide("approve")
    Resumption.objects.filter(state="queued").delete()
    with transaction.atomic():
        Branch.objects.update(state="paused")
    assert rescue() == 1
    assert rescue() == 0
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert Pause.objects.filter(state="waiting").count() == 0


def test_input_that_does_not_fit_starts_nothing(hosted: Hosted) -> None:
    with pytest.raises(Invalid, match="order"):
        hosted.start(order=[1])
    assert not Run.objects.exists()


def test_a_stopped_agent_starts_nothing(hosted: Hosted) -> None:
    from django.utils import timezone

    type(hosted.agent).objects.update(stopped_at=timezone.now())
    with pytest.raises(AgentStopped):
        hosted.start()
    assert not Run.objects.exists()


def test_an_agent_that_polls_is_not_started_here(hosted: Hosted) -> None:
    type(hosted.agent).objects.update(runner="poll", graph="")
    hosted.agent.refresh_from_db()
    with pytest.raises(Invalid, match="not hosted"):
        start(agent=hosted.agent, given={}, actor=SYSTEM)
