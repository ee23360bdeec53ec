"""A run is halted and resumed, a worker is told to stop, a provider is busy: nothing is lost, nothing done twice."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.accounts.permissions import AgentStopped
from reviewhub.audit.models import Event
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.gates.cancel import cancel
from reviewhub.gates.halt import halt
from reviewhub.gates.resume import resume as resume_run
from reviewhub.hosting import drain, resume, store
from reviewhub.hosting.drain import Drain
from reviewhub.hosting.rescue import rescue
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall
from tests.hosting.conftest import Hosted, run_out
from tests.hosting.test_resume import states
from tests.runtime.agent import TryLater

PAID = ("pay", "10.00")


def test_halted_before_the_tool_runs_it_runs_after_it_was_resumed(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    assert halt(run_id=run.pk, reason="something is odd", actor=SYSTEM)
    assert not halt(run_id=run.pk, reason="again", actor=SYSTEM)
    hosted.decide("approve")
    assert hosted.work() == 0
    run_out()
    assert rescue() == 0 and hosted.work() == 0
    assert states(run) == ("running", "resuming")
    assert resume_run(run_id=run.pk, reason="it was nothing", actor=SYSTEM)
    assert not resume_run(run_id=run.pk, reason="again", actor=SYSTEM)
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert hosted.world.done.count(PAID) == 1
    kinds = Event.objects.filter(kind__in=["run.halted", "run.resumed"]).order_by("pk")
    assert [event.payload.sentence for event in kinds] == [
        "system halted the run: something is odd",
        "system resumed the run: it was nothing",
    ]


def test_halted_while_a_worker_has_it_the_worker_gives_it_back(hosted: Hosted) -> None:
    """The model's answer comes while the run is halted: it is kept, and nothing after it starts."""
    run = hosted.start()
    hosted.world.before["model"] = lambda: halt(run_id=run.pk, reason="stop", actor=SYSTEM)
    hosted.work()
    hosted.world.before.clear()
    branch, row = Branch.objects.get(), Resumption.objects.get()
    assert (branch.state, branch.lease_until, row.state) == ("running", None, "queued")
    assert not ToolCall.objects.filter(tool_name="pay").exists()
    assert not Failure.objects.exists()
    models = hosted.world.models
    resume_run(run_id=run.pk, reason="go on", actor=SYSTEM)
    assert hosted.work() == 1
    assert states(run) == ("paused", "paused")
    assert hosted.world.models == models


def test_a_halted_run_can_be_cancelled_and_a_quarantined_one_too(hosted: Hosted, settings: Any) -> None:
    run = hosted.start()
    halt(run_id=run.pk, reason="odd", actor=SYSTEM)
    assert cancel(run_id=run.pk, reason="wrong", actor=SYSTEM)
    assert states(run) == ("cancelled", "cancelled")
    settings.RESUME_ATTEMPTS = 1
    run = hosted.start()
    hosted.world.breaks["model"] = [ConnectionError("down")]
    hosted.work()
    run.refresh_from_db()
    assert run.state == "quarantined"
    assert cancel(run_id=run.pk, reason="given up", actor=SYSTEM)
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_of_a_stopped_agent_nothing_is_resumed(hosted: Hosted) -> None:
    from django.utils import timezone

    run = hosted.start()
    halt(run_id=run.pk, reason="odd", actor=SYSTEM)
    type(hosted.agent).objects.update(stopped_at=timezone.now())
    with pytest.raises(AgentStopped):
        resume_run(run_id=run.pk, reason="go on", actor=SYSTEM)


def test_who_asks_for_a_moment_gets_it(hosted: Hosted) -> None:
    hosted.start()
    hosted.world.breaks["model"] = [TryLater("429: slow down", after=120)]
    hosted.work()
    kept = Failure.objects.get()
    assert kept.again_at is not None
    assert 119 < (kept.again_at - kept.at).total_seconds() < 133


def test_failures_with_progress_in_between_do_not_add_up(hosted: Hosted, settings: Any) -> None:
    settings.RESUME_ATTEMPTS = 2
    run = hosted.start()
    hosted.world.breaks["model"] = [ConnectionError("down")]
    hosted.work()
    run_out()
    hosted.work()
    hosted.decide("approve")
    hosted.world.breaks["mail"] = [TryLater("busy")]
    hosted.work()
    run_out()
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert hosted.world.done.count(PAID) == 1


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Drain:
    """This process as a worker that can be told to stop."""
    made = Drain()
    for module in (resume, store, drain):
        monkeypatch.setattr(module, "this_worker", made)
    return made


def test_told_to_stop_it_gives_the_branch_back_between_two_writes(hosted: Hosted, worker: Drain) -> None:
    run = hosted.start()
    hosted.world.before["model"] = lambda: worker.begin(seconds=3600)
    hosted.work()
    branch, row = Branch.objects.get(), Resumption.objects.get()
    assert (branch.state, branch.lease_until, row.state) == ("running", None, "queued")
    assert hosted.work() == 0  # it takes nothing any more
    assert row.failures.count() == 0
    worker._told.clear()
    hosted.world.before.clear()
    assert hosted.work("another worker") == 1
    assert states(run) == ("paused", "paused")
    assert hosted.world.models == 1


@pytest.mark.parametrize("why", ["stop", "halt"])
def test_told_to_stop_before_the_first_state_is_saved_it_gives_the_branch_back(
    hosted: Hosted, worker: Drain, why: str
) -> None:
    run = hosted.start()

    def act() -> None:
        if why == "stop":
            worker.begin(seconds=3600)
        else:
            halt(run_id=run.pk, reason="something is odd", actor=SYSTEM)

    with faults.armed("resume.after_claim", act):
        assert hosted.work() == 1
    branch, row = Branch.objects.get(), Resumption.objects.get()
    assert (branch.state, branch.lease_until, row.state) == ("running", None, "queued")
    assert row.failures.count() == 0
    if why == "stop":
        worker._told.clear()
    else:
        resume_run(run_id=run.pk, reason="it was nothing", actor=SYSTEM)
    run_out()
    assert hosted.work("another worker") == 1
    assert states(run) == ("paused", "paused")


def test_what_it_cannot_finish_is_given_back_unless_a_once_call_runs(hosted: Hosted, worker: Drain) -> None:
    hosted.start()
    given: list[int] = []
    hosted.world.before["model"] = lambda: given.append(worker.give_back_all())
    hosted.work()
    assert given == [1]
    assert Branch.objects.get().lease_until is None
    # Its answer came too late for this worker; the next one asks again.
    hosted.world.before.clear()
    hosted.work()
    hosted.decide("approve")
    hosted.world.before["pay"] = lambda: given.append(worker.give_back_all())
    hosted.work()
    assert given == [1, 0]
    assert hosted.world.done.count(PAID) == 1
