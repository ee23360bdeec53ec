"""Shifts of a hosted agent: written as it runs, closed by the next worker when one died."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from reviewhub.core import faults
from reviewhub.core.faults import Fault
from reviewhub.hosting.goodput.meter import MeteredStore
from reviewhub.hosting.goodput.queries import goodput_of_agent, goodput_of_run, spared_from_zero, workers
from reviewhub.hosting.goodput.rules import Spent
from reviewhub.hosting.goodput.shifts import _write
from reviewhub.hosting.models import Shift
from reviewhub.toolcalls.models import Pause
from tests.hosting.conftest import Hosted, run_out

pytestmark = pytest.mark.django_db(transaction=True)


class Death(BaseException):
    """Nothing after it runs, as in a process that was killed."""


def die() -> None:
    raise Death


def shifts() -> list[tuple[str, bool]]:
    """How each shift ended, and whether it came after a death."""
    return list(Shift.objects.order_by("id").values_list("ending", "after_loss"))


def test_a_run_from_start_to_end(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    Pause.objects.filter(settled_at=None).update(created_at=F("created_at") - timedelta(seconds=100))
    hosted.decide("approve")
    hosted.work()
    assert shifts() == [("paused", False), ("finished", False)]
    found = goodput_of_run(run)
    assert found.losses == 0
    assert found.latency is None
    assert found.spent.saves == 3
    assert found.spent.useful > 0
    assert found.spent.overhead > 0
    assert found.spent.progress is not None
    assert 100 <= found.people < 130
    # The model answered in the first step; the second found its stamp and its pause again.
    assert found.spent.paid > 0
    assert found.spent.replay > 0
    assert goodput_of_agent(hosted.agent, days=1).shifts == 2
    assert spared_from_zero(run).replay == 0


def test_a_dead_worker_and_the_one_that_goes_on(hosted: Hosted) -> None:
    run = hosted.start()
    with faults.armed("consume.after_commit", die), pytest.raises(Death):
        hosted.work("first")
    assert shifts() == [("", False)]
    Shift.objects.update(
        began_at=F("began_at") - timedelta(seconds=9), seen_at=F("seen_at") - timedelta(seconds=9)
    )
    run_out()
    hosted.work("second")
    assert shifts() == [("lost", False), ("paused", True)]
    lost, next_ = Shift.objects.order_by("id")
    # It was at work until the read was started, which is the last row that it wrote.
    assert 8_000_000 < lost.useful_us < 20_000_000
    assert lost.replay_us == 0
    assert lost.ended_at > lost.seen_at
    assert next_.queue_us == 0
    found = goodput_of_run(run)
    assert found.losses == 1
    assert found.latency is not None
    assert found.longest == pytest.approx(found.latency)
    assert spared_from_zero(run).replay == pytest.approx(lost.useful_us / 1e6)


def test_what_was_done_after_the_last_row_is_lost_with_the_worker(hosted: Hosted) -> None:
    hosted.start()
    with faults.armed("resume.after_claim"), pytest.raises(Fault):
        hosted.work()
    assert shifts() == [("", False)], "it is seen by the one who comes next"
    run_out()
    with faults.armed("pause.before_commit", die), pytest.raises(Death):
        hosted.work()
    first, row = Shift.objects.order_by("id")
    assert (first.ending, row.after_loss) == ("lost", True)
    row.seen_at, row.useful_us = row.began_at + timedelta(seconds=50), 50_000_000
    row.save()
    run_out()
    hosted.work()
    lost = Shift.objects.order_by("id")[1]
    assert lost.ending == "lost"
    assert lost.replay_us > 49_000_000
    assert lost.useful_us < 1_000_000


def test_an_error_of_the_agent_loses_what_was_not_written(hosted: Hosted) -> None:
    hosted.start()
    hosted.world.breaks["model"] = [ConnectionError("provider is down")]
    hosted.work()
    assert shifts() == [("failed", False)]
    run_out()
    hosted.work()
    assert shifts() == [("failed", False), ("paused", False)]
    # The read was found again, and the model was asked now.
    second = Shift.objects.order_by("id")[1]
    assert second.replay_us > 0
    assert second.paid > 0


def test_a_model_call_that_was_recorded_is_not_paid_again(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted.start()
    save, saved = MeteredStore.save, []

    def dying(store: MeteredStore, **given: Any) -> Any:
        saved.append(given)
        return die() if len(saved) == 2 else save(store, **given)

    monkeypatch.setattr(MeteredStore, "save", dying)
    with pytest.raises(Death):
        hosted.work()
    run_out()
    hosted.work()
    assert hosted.world.models == 1
    first, second = Shift.objects.order_by("id")[:2]
    assert first.ending == "lost"
    assert second.spared > 0
    assert second.paid == 0
    assert second.replay_us > 0


def test_whoever_was_late_does_not_reopen_it(hosted: Hosted) -> None:
    hosted.start()
    with faults.armed("consume.after_commit", die), pytest.raises(Death):
        hosted.work()
    run_out()
    hosted.work()
    before = Shift.objects.order_by("id").values()[0]
    _write(Shift.objects.order_by("id")[0], Spent(useful=99))
    assert Shift.objects.order_by("id").values()[0] == before


def test_workers_of_the_last_hour(hosted: Hosted) -> None:
    hosted.start()
    hosted.work("one")
    Shift.objects.update(
        began_at=F("began_at") - timedelta(seconds=60),
        seen_at=F("seen_at") - timedelta(seconds=60),
        ended_at=F("ended_at") - timedelta(seconds=60),
    )
    hosted.decide("approve")
    hosted.work("one")
    found = workers(seconds=3600)
    assert 50 < found.starved + found.waiting < 70
    assert found.useful > 0
