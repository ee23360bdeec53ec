"""Who may write for a branch."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from reviewhub.core import clock
from reviewhub.core.errors import NotFound
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import move
from reviewhub.runs import fence
from reviewhub.runs.heartbeat import heartbeat
from reviewhub.runs.lease import BranchHeld, claim, release, renew
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BRANCH_EDGES
from tests.racing import together


def ran_out(branch: Branch) -> None:
    """Moves the lease into the past: the test's way of letting time go by."""
    Branch.objects.filter(pk=branch.pk).update(lease_until=clock.now() - timedelta(milliseconds=5))


def test_a_claim_begins_an_epoch(branch: Branch) -> None:
    held = claim(branch_id=branch.id, owner="worker 1", seconds=60)
    assert (held.epoch, held.lease_owner) == (1, "worker 1")
    left = held.lease_until - clock.now()
    assert timedelta(seconds=55) < left <= timedelta(seconds=60)


def test_a_held_branch_is_refused_until_the_lease_runs_out(branch: Branch) -> None:
    claim(branch_id=branch.id, owner="worker 1", seconds=60)
    with pytest.raises(BranchHeld) as refused:
        claim(branch_id=branch.id, owner="worker 2", seconds=60)
    assert refused.value.extra["owner"] == "worker 1"
    ran_out(branch)
    assert claim(branch_id=branch.id, owner="worker 2", seconds=60).epoch == 2


def test_a_claim_of_nothing_or_of_an_ended_branch(branch: Branch) -> None:
    with pytest.raises(NotFound):
        claim(branch_id=uuid7(), owner="worker", seconds=60)
    move(branch, to="failed", table=BRANCH_EDGES)
    with pytest.raises(fence.RunEnded):
        claim(branch_id=branch.id, owner="worker", seconds=60)


def test_a_renewal_prolongs_also_what_ran_out_while_nobody_took_it(branch: Branch) -> None:
    held = claim(branch_id=branch.id, owner="worker 1", seconds=1)
    ran_out(branch)
    until = renew(branch_id=branch.id, epoch=held.epoch, seconds=60)
    assert until > clock.now()
    with pytest.raises(BranchHeld):
        claim(branch_id=branch.id, owner="worker 2", seconds=60)


def test_the_old_holder_can_neither_renew_nor_release(branch: Branch) -> None:
    old = claim(branch_id=branch.id, owner="worker 1", seconds=1)
    ran_out(branch)
    new = claim(branch_id=branch.id, owner="worker 2", seconds=60)
    for late in (renew, heartbeat):
        with pytest.raises(fence.StaleEpoch):
            late(branch_id=branch.id, epoch=old.epoch, seconds=60)
    with pytest.raises(fence.StaleEpoch):
        release(branch_id=branch.id, epoch=old.epoch)
    branch.refresh_from_db()
    assert (branch.epoch, branch.lease_owner) == (new.epoch, "worker 2")


def test_a_release_frees_and_ends_the_epoch(branch: Branch) -> None:
    held = claim(branch_id=branch.id, owner="worker 1", seconds=60)
    assert release(branch_id=branch.id, epoch=held.epoch) == 2
    with pytest.raises(fence.StaleEpoch):
        renew(branch_id=branch.id, epoch=held.epoch, seconds=60)
    assert claim(branch_id=branch.id, owner="worker 2", seconds=60).epoch == 3


def test_a_heartbeat_of_a_poller_only_says_that_it_lives(branch: Branch) -> None:
    assert heartbeat(branch_id=branch.id, epoch=None, seconds=60).heartbeat_at is not None
    branch.refresh_from_db()
    assert branch.lease_until is None
    with pytest.raises(NotFound):
        heartbeat(branch_id=uuid7(), epoch=None, seconds=60)


def test_a_heartbeat_is_how_a_claimer_learns_that_its_branch_is_over(run: Run, branch: Branch) -> None:
    held = claim(branch_id=branch.id, owner="worker", seconds=60)
    heir = Branch.objects.create(workspace=run.workspace, run=run, name="rewrite", head=uuid7())
    release(branch_id=branch.id, epoch=held.epoch)
    held.refresh_from_db()
    move(held, to="superseded", table=BRANCH_EDGES, superseded_by=heir)
    seen = heartbeat(branch_id=branch.id, epoch=1, seconds=60)
    assert (seen.state, seen.lease_until) == ("superseded", None)
    assert fence.continue_from(seen) is not None


class TestFence:
    def test_lets_the_holder_and_the_poller_through(self, branch: Branch) -> None:
        fence.check(branch, None)
        held = claim(branch_id=branch.id, owner="worker", seconds=60)
        fence.check(held, held.epoch)
        ran_out(branch)
        held.refresh_from_db()
        fence.check(held, held.epoch)
        fence.check(held, None)

    def test_refuses_another_epoch_and_a_poller_on_a_held_branch(self, branch: Branch) -> None:
        held = claim(branch_id=branch.id, owner="worker", seconds=60)
        for wrong in (None, 0, 2):
            with pytest.raises(fence.StaleEpoch):
                fence.check(held, wrong)

    @pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "quarantined"])
    def test_refuses_an_ended_branch(self, branch: Branch, state: str) -> None:
        move(branch, to=state, table=BRANCH_EDGES)
        with pytest.raises(fence.RunEnded) as refused:
            fence.check(branch, None)
        assert (refused.value.code, refused.value.extra) == ("run_ended", {"state": state})

    def test_says_where_a_rewritten_branch_goes_on(self, run: Run, branch: Branch) -> None:
        heirs = [
            Branch.objects.create(workspace=run.workspace, run=run, name=name, head=uuid7())
            for name in ("b", "c")
        ]
        move(branch, to="superseded", table=BRANCH_EDGES, superseded_by=heirs[0])
        move(heirs[0], to="superseded", table=BRANCH_EDGES, superseded_by=heirs[1])
        with pytest.raises(fence.Superseded) as refused:
            fence.check(branch, 0)
        assert refused.value.code == "superseded"
        assert refused.value.extra["continue_from"] == {
            "branch": "c",
            "branch_id": str(heirs[1].id),
            "checkpoint": str(heirs[1].head),
        }
        assert fence.continue_from(heirs[1]) is None


@pytest.mark.django_db(transaction=True)
def test_of_several_claimers_one_wins(branch: Branch) -> None:
    for round_ in range(1, 11):
        acts = [lambda n=n: claim(branch_id=branch.id, owner=f"worker {n}", seconds=60) for n in range(4)]
        results = together(*acts)
        won = [result for result in results if isinstance(result, Branch)]
        assert [each.epoch for each in won] == [round_]
        assert sum(isinstance(result, BranchHeld) for result in results) == 3
        with transaction.atomic():
            ran_out(branch)
