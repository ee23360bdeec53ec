"""B15: a lease that ran out is no failure. What may have run is never run again; a person says what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.gates import unknown
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Attempt, ToolCall
from tests.hosting.conftest import Hosted, hosted, payer, run_out

__all__ = ["hosted", "payer"]

PAID = ("pay", "10.00")


class Killed(BaseException):
    """The worker is gone in the middle of its tool."""


@pytest.fixture
def approved(hosted: Hosted) -> Hosted:
    """A run whose payment is approved; no worker has it yet."""
    hosted.start()
    hosted.work("first")
    hosted.decide("approve")
    return hosted


def pay_call() -> ToolCall:
    return ToolCall.objects.get(tool_name="pay")


def test_b15_another_worker_leaves_a_long_call_of_a_living_one(approved: Hosted) -> None:
    seen: list[int] = []
    # In the middle of the tool: its holder lives, and every hint is delivered again.
    approved.world.before["pay"] = lambda: seen.append(_all_wakings(approved))
    approved.work("first")
    assert seen == [0]
    assert approved.world.done.count(PAID) == 1
    assert Attempt.objects.filter(tool_call=pay_call()).count() == 1
    assert Run.objects.get().state == "succeeded"


def test_b15_a_call_whose_lease_ran_out_is_asked_about_and_its_own_word_ends_that(approved: Hosted) -> None:
    def another_one_comes() -> None:
        del approved.world.before["pay"]
        run_out()
        assert _all_wakings(approved) == 1
        assert pay_call().state == "unknown"
        assert approved.request().kind == "unknown"

    approved.world.before["pay"] = another_one_comes
    approved.work("first")
    assert approved.world.done.count(PAID) == 1
    assert pay_call().state == "succeeded"  # the late word of the tool itself
    approved.work("second")
    assert approved.world.done.count(PAID) == 1
    assert Run.objects.get().state == "succeeded"


@pytest.mark.parametrize(
    ("answer", "times"), [("happened", 0), ("did_not_happen", 1), ("skip", 0)], ids=lambda one: str(one)
)
def test_b15_a_call_whose_worker_died_waits_for_a_person(approved: Hosted, answer: str, times: int) -> None:
    def die() -> None:
        del approved.world.before["pay"]
        raise Killed

    approved.world.before["pay"] = die
    with pytest.raises(Killed):
        approved.work("first")
    run_out()
    swept = sum(unknown.unknown(call_id=pk) for pk in unknown.due())
    assert (swept, approved.work("second")) in {(1, 0), (1, 1)}
    assert (pay_call().state, approved.world.done.count(PAID)) == ("unknown", 0)
    more: dict[str, Any] = {"value": {"did": "10.00"}} if answer == "happened" else {}
    approved.decide(answer, **more)
    while approved.work("second"):
        pass
    assert approved.world.done.count(PAID) == times
    assert Branch.objects.get().state == "succeeded"


def _all_wakings(hosted: Hosted) -> int:
    """Hands every waking out once more, due or not; how many of them a worker took."""
    from reviewhub.hosting.resume import resume

    rows = list(Resumption.objects.values_list("pk", flat=True))
    return sum(resume(resumption_id=pk, owner="second") for pk in rows)
