"""What a run may spend and how long it may work: used up it is halted, and goes on when a person raises the limit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid
from reviewhub.gates.halt import halt
from reviewhub.gates.overtime import sweep_overtime, time_worked
from reviewhub.gates.set_limits import set_limits
from reviewhub.hosting.models import Record
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Halt, Run
from reviewhub.toolcalls.models import Pause
from tests.hosting.conftest import Hosted
from tests.hosting.test_resume import states


def earlier(seconds: int, *models: Any) -> None:
    """Everything of these models began and ended so much earlier."""
    for model in models:
        for name in ("created_at", "settled_at", "ended_at", "began_at", "taken_at"):
            if any(field.name == name for field in model._meta.get_fields()):
                rows = model.objects.filter(**{f"{name}__isnull": False})
                rows.update(**{name: F(name) - timedelta(seconds=seconds)})


def test_a_run_that_has_spent_its_limit_is_halted_and_goes_on_when_it_is_raised(
    hosted: Hosted, settings: Any
) -> None:
    settings.MODEL_PRICES = {"scripted:input": 2.0, "scripted:output": 10.0}
    settings.RUN_SPEND_LIMIT = 1
    hosted.world.usage = {"input_tokens": 400_000, "output_tokens": 30_000}
    run = hosted.start()
    hosted.work()
    row = Record.objects.get(model="scripted")
    assert (row.input_tokens, row.output_tokens, row.cost_micros) == (400_000, 30_000, 1_100_000)
    kept = Halt.objects.get()
    assert (kept.kind, kept.reason, kept.by_name) == ("spend", "It has spent 1.10 of 1.00.", "system")
    assert states(run) == ("running", "running") and hosted.work() == 0
    with pytest.raises(Invalid, match="has spent"):
        set_limits(run_id=run.pk, spend_micros=1_100_000, reason="more", actor=SYSTEM)
    set_limits(run_id=run.pk, spend_micros=5_000_000, reason="it is worth it", actor=SYSTEM)
    said = Event.objects.get(kind="run.limits_set").payload.sentence
    assert said == "system set the limits of the run: 5.00 to spend, any time to work; it is worth it"
    assert hosted.work() == 1
    assert states(run) == ("paused", "paused")
    run.refresh_from_db()
    assert (run.input_tokens, run.output_tokens, run.spent_micros) == (400_000, 30_000, 1_100_000)
    assert hosted.world.models == 1, "the answer was kept and is not paid for again"


def test_raising_one_limit_lifts_no_halt_of_a_person(hosted: Hosted) -> None:
    run = hosted.start()
    halt(run_id=run.pk, reason="odd", actor=SYSTEM)
    set_limits(run_id=run.pk, spend_micros=0, seconds=0, reason="none", actor=SYSTEM)
    assert Branch.objects.get().is_halted


def test_time_in_which_a_run_waits_for_people_does_not_count(hosted: Hosted) -> None:
    run = hosted.start()
    hosted.work()
    Run.objects.update(time_limit_seconds=60)
    earlier(3600, Run, Branch, Pause)
    # It waits since an hour, and its state is paused: nothing to halt.
    assert sweep_overtime() == 0
    assert time_worked(run.pk) < timedelta(seconds=60)
    hosted.decide("approve")
    assert sweep_overtime() == 0
    earlier(61, Run, Branch, Pause)
    assert sweep_overtime() == 1 and sweep_overtime() == 0
    assert Halt.objects.get().reason.endswith("s; it may work for 60 s.")
    assert hosted.work() == 0
    earlier(3600, Run, Branch, Pause, Halt)
    assert time_worked(run.pk) < timedelta(seconds=130), "halted time does not count either"
    with pytest.raises(Invalid, match="longer than 60 s"):
        set_limits(run_id=run.pk, seconds=60, reason="again", actor=SYSTEM)
    set_limits(run_id=run.pk, seconds=600, reason="ten minutes", actor=SYSTEM)
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")


def test_time_in_the_queue_is_no_work(hosted: Hosted) -> None:
    run = hosted.start()
    Run.objects.update(time_limit_seconds=60)
    earlier(3600, Run, Branch, Resumption)
    assert time_worked(run.pk) < timedelta(seconds=5), "nobody has taken it yet"
    hosted.work()
    earlier(3600, Run, Branch, Pause, Resumption)
    hosted.decide("approve")
    earlier(1800, Run, Branch, Pause, Resumption)
    assert time_worked(run.pk) < timedelta(seconds=10), "it waits for a worker to go on"
    assert sweep_overtime() == 0
    hosted.work()
    assert states(run) == ("succeeded", "succeeded")
    assert time_worked(run.pk) < timedelta(seconds=20)


def test_time_until_the_next_attempt_is_no_work(hosted: Hosted) -> None:
    run = hosted.start()
    begin = Branch.objects.get().created_at
    row = Resumption.objects.get()
    Resumption.objects.update(taken_at=begin, attempts=3)
    for at, again in ((100, 200), (250, None)):
        row.failures.create(
            attempt=at,
            place="x",
            at=begin + timedelta(seconds=at),
            again_at=begin + timedelta(seconds=again) if again else None,
        )
    Branch.objects.update(ended_at=begin + timedelta(seconds=400))
    assert time_worked(run.pk) == timedelta(seconds=300)  # 400 without 100 to 200
    Resumption.objects.update(due_at=begin + timedelta(seconds=350))  # tried again by a person
    assert time_worked(run.pk) == timedelta(seconds=200)
