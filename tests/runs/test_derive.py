"""A run's state follows its branches."""

from __future__ import annotations

import pytest
from django.db import transaction

from reviewhub.audit.models import Event
from reviewhub.core.transitions import move
from reviewhub.runs.derive import derive
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.states import BRANCH_EDGES
from tests.racing import together


def put(branch: Branch, *states: str) -> None:
    for state in states:
        move(branch, to=state, table=BRANCH_EDGES)


def test_a_paused_branch_pauses_the_run_without_ending_it(run: Run, branch: Branch) -> None:
    put(branch, "paused")
    assert derive(run.id) == "paused"
    run.refresh_from_db()
    assert (run.state, run.ended_at) == ("paused", None)
    assert not Event.objects.filter(kind="run.ended").exists()


def test_the_last_open_branch_ends_the_run(run: Run, branch: Branch) -> None:
    put(branch, "succeeded")
    assert derive(run.id) == "succeeded"
    run.refresh_from_db()
    assert run.ended_at is not None
    assert Event.objects.get(kind="run.ended").payload.sentence.endswith("succeeded")
    assert derive(run.id) == "succeeded"
    assert Event.objects.filter(kind="run.ended").count() == 1


def test_a_fork_opens_an_ended_run_again(run: Run, branch: Branch) -> None:
    put(branch, "failed")
    derive(run.id)
    Branch.objects.create(workspace=run.workspace, run=run, name="again")
    assert derive(run.id) == "running"
    run.refresh_from_db()
    assert run.ended_at is None
    assert Event.objects.filter(kind="run.reopened").count() == 1


@pytest.mark.django_db(transaction=True)
def test_branches_that_end_at_once_end_the_run(run: Run, branch: Branch) -> None:
    """Each one's end sees the other still open, unless the run is locked before the branches are read."""
    for round_ in range(20):
        pair = [
            Branch.objects.create(workspace=run.workspace, run=run, name=f"{round_}-{side}") for side in "ab"
        ]
        with transaction.atomic():
            if round_ == 0:
                put(branch, "succeeded")
            derive(run.id)

        def end(mine: Branch) -> None:
            with transaction.atomic():
                put(mine, "succeeded")
                derive(run.id)

        results = together(*[lambda mine=mine: end(mine) for mine in pair])
        assert results == [None, None]
        run.refresh_from_db()
        assert run.state == "succeeded", round_
