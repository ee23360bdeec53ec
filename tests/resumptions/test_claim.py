"""Claiming: one holder at a time, a new epoch each time, nothing for branches that need nobody."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F

from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import StaleState
from reviewhub.resumptions.claim import Claimed, claim
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.failed import GONE, NO_END, failures_at, keep_failure
from reviewhub.resumptions.give_up import give_up
from reviewhub.resumptions.models import Failure, Resumption
from reviewhub.resumptions.put_back import give_back, put_back
from reviewhub.resumptions.queries import claimable
from reviewhub.resumptions.renew import renew
from reviewhub.runs.fence import StaleEpoch
from reviewhub.runs.halt import halt, lift
from reviewhub.runs.models import Branch
from tests.resumptions.conftest import World


def hosted(world: World) -> Resumption:
    return enqueue(branch=world.branch, pause=world.pause, kind="hosted")


def take(row: Resumption, owner: str = "worker") -> Claimed | None:
    return claim(resumption_id=row.pk, owner=owner, seconds=60)


def taken(row: Resumption) -> Claimed:
    held = take(row)
    assert held is not None
    return held


def run_out() -> None:
    """The leases of waking and branch ran out a second ago."""
    Resumption.objects.update(lease_until=F("lease_until") - timedelta(seconds=61))
    Branch.objects.update(lease_until=F("lease_until") - timedelta(seconds=61))


def test_the_first_takes_it_and_the_second_gets_nothing(world: World) -> None:
    row = hosted(world)
    held = taken(row)
    assert (held.resumption.state, held.resumption.attempts, held.branch.epoch) == ("claimed", 1, 1)
    assert Branch.objects.get().state == "running"
    assert take(row, "other") is None
    assert list(claimable()) == []


def test_a_lease_that_ran_out_is_taken_over_in_a_new_epoch(world: World) -> None:
    row = hosted(world)
    first = taken(row)
    run_out()
    assert list(claimable()) == [row]
    second = taken(row)
    assert (second.resumption.attempts, second.branch.epoch) == (2, 2)
    assert [(one.attempt, one.owner, one.error) for one in Failure.objects.all()] == [(1, "worker", GONE)]
    # The one who slept through its lease changes nothing any more.
    with pytest.raises(StaleEpoch):
        renew(resumption=first.resumption, branch=first.branch, seconds=60)
    with pytest.raises(StaleEpoch):
        put_back(resumption=first.resumption, branch=first.branch, place="", error="late", seconds=1)
    with pytest.raises(StaleState):
        give_up(resumption=first.resumption, place="", error="late")
    assert not complete(resumption=first.resumption)
    assert complete(resumption=second.resumption)


def test_renewing_keeps_others_off(world: World) -> None:
    row = hosted(world)
    held = taken(row)
    run_out()
    renew(resumption=held.resumption, branch=held.branch, seconds=60)
    assert take(row, "other") is None


def test_what_is_due_later_is_not_taken_and_leaves_the_branch_free(world: World) -> None:
    row = hosted(world)
    Resumption.objects.update(due_at=F("due_at") + timedelta(seconds=30))
    assert take(row) is None
    branch = Branch.objects.get()
    assert (branch.lease_until, branch.epoch, branch.state) == (None, 0, "resuming")
    Resumption.objects.update(due_at=F("due_at") - timedelta(seconds=60))
    assert take(row) is not None


def test_put_back_is_due_later_and_keeps_the_errors(world: World) -> None:
    row = hosted(world)
    for number in (1, 2):
        held = taken(row)
        put_back(
            resumption=held.resumption, branch=held.branch, place="p", error=f"error {number}", seconds=20
        )
        row.refresh_from_db()
        assert (row.state, row.lease_until, Branch.objects.get().lease_until) == ("queued", None, None)
        assert take(row) is None
        Resumption.objects.update(due_at=F("due_at") - timedelta(seconds=40))
    assert failures_at(resumption=row, place="p") == 2
    assert failures_at(resumption=row, place="further on") == 0
    held = taken(row)
    give_up(resumption=held.resumption, place="p", error="error 3")
    row.refresh_from_db()
    assert row.state == "failed"
    assert [one.error for one in Failure.objects.order_by("attempt")] == ["error 1", "error 2", "error 3"]


def test_progress_is_no_excuse_for_ever(world: World) -> None:
    row = hosted(world)
    for number in range(NO_END):
        row.attempts = number
        keep_failure(resumption=row, place=str(number), error="again")
    assert failures_at(resumption=row, place="new") == 1


def test_what_is_halted_is_not_taken_and_given_back_it_is_due_at_once(world: World) -> None:
    row = hosted(world)
    with transaction.atomic():
        assert halt(branch=Branch.objects.get(), kind="person", reason="odd", actor=SYSTEM)
        assert not halt(branch=Branch.objects.get(), kind="person", reason="again", actor=SYSTEM)
    assert take(row) is None and not claimable()
    with transaction.atomic():
        assert lift(branch=Branch.objects.get(), reason="fine", actor=SYSTEM)
    held = taken(row)
    give_back(resumption=held.resumption, branch=held.branch)
    assert list(claimable()) == [row]
    assert not Failure.objects.exists()


@pytest.mark.parametrize("state", ["paused", "cancelled", "superseded", "succeeded"])
def test_a_branch_that_needs_nobody_ends_the_waking(world: World, state: str) -> None:
    row = hosted(world)
    Branch.objects.update(state=state)
    assert take(row) is None
    row.refresh_from_db()
    assert row.state == "abandoned"
    assert Branch.objects.get().epoch == 0


def test_a_branch_that_somebody_else_holds_is_left_alone(world: World) -> None:
    row = hosted(world)
    held = taken(row)
    Resumption.objects.update(state="queued", lease_until=None)
    assert take(row, "other") is None
    row.refresh_from_db()
    assert row.state == "queued"
    assert Branch.objects.get().epoch == held.branch.epoch


def test_workers_do_not_take_what_agents_poll(world: World) -> None:
    row = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    assert take(row) is None
    assert Resumption.objects.get().state == "queued"
