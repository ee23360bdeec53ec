"""The clocks of workers and of who decides jump an hour: leases, timers and deadlines are the database's business.

The jump comes before a run sleeps, while it sleeps, waits for people, or holds a lease in a call that is longer; or the
clocks never come to rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from reviewhub_agents.demos import support_shop

from reviewhub.core import clock
from reviewhub.hosting.goodput.queries import goodput_of_run
from reviewhub.hosting.models import Shift
from reviewhub.policies.rules import Rule
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.chaos import actors, clocks
from tests.chaos.crew import Crew, make_crew, open_runs
from tests.chaos.drowsy import NAP
from tests.chaos.slow import lines
from tests.chaos.test_long_calls import until

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600
ASK = Rule(name="Ask", tool="drowsy.*", action="require", deadline_seconds=1200)


@pytest.fixture
def crew(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Crew]:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))
    settings.HOSTED_GRAPHS = {**settings.HOSTED_GRAPHS, **actors.GRAPHS}
    made = make_crew("drowsy", tmp_path, rules=[ASK])
    for what in ("work", "work", "sweep"):
        made.add(what)
    yield made
    made.kill_all()


def asleep() -> timedelta | None:
    """How long the run will sleep from now on."""
    row = Resumption.objects.filter(state="queued", due_at__gt=clock.now()).first()
    return row and row.due_at - clock.now()


def check(run: Run) -> None:
    """All was done, once; nobody took a lease that ran, and no figure is of an hour."""
    assert Run.objects.get(pk=run.pk).state == "succeeded"
    assert (len(lines("starts")), len(lines("effects")), Attempt.objects.count()) == (1, 1, 1)
    assert ToolCall.objects.get().state == "succeeded"
    assert list(ReviewRequest.objects.values_list("kind", "state")) == [("approval", "approved")]
    assert not Failure.objects.exists(), "a lease was taken before its time"
    until(lambda: not Resumption.objects.open().exists())
    assert not Resumption.objects.filter(attempts__gt=1).exists()
    until(lambda: not Shift.objects.filter(ended_at__isnull=True).exists())
    found = goodput_of_run(run)
    assert found.queue + found.spent.recovery < HOUR / 2


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
@pytest.mark.parametrize("moment", ["before", "asleep", "waiting", "calling"])
def test_a_clock_jumps(crew: Crew, moment: str, seconds: int) -> None:
    def jump(now: str) -> None:
        if now == moment:
            clocks.set_wrong(crew.folder, seconds)

    jump("before")
    run = crew.start("jump")
    assert timedelta(0) < until(asleep) <= NAP
    jump("asleep")
    until(lambda: ReviewRequest.objects.filter(state="pending").exists())
    jump("waiting")
    time.sleep(1)  # What the sweeps think is due comes now.
    crew.add("decide")
    until(lambda: lines("starts"))
    jump("calling")
    until(lambda: not open_runs())
    check(run)


def test_clocks_that_never_come_to_rest(crew: Crew) -> None:
    run = crew.start("swing")
    crew.add("decide")
    for seconds in cycle([HOUR, -HOUR, 0]):
        if not open_runs():
            break
        clocks.set_wrong(crew.folder, seconds)
        time.sleep(0.4)
    check(run)
