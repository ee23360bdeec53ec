"""Asynchronous saves in a worker: a thread with a connection of its own, one step behind, on a real database."""

from __future__ import annotations

import pytest
from reviewhub_agents.runtime import Checkpoints

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch
from tests.hosting.conftest import Hosted


@pytest.mark.django_db(transaction=True)
def test_a_hosted_run_is_saved_by_the_side(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hosting.graphs.payer.checkpoints", Checkpoints.ASYNC)
    hosted.start(amount="10.00")
    hosted.work()
    # People look at the state at which it waits, and not at the one before.
    assert list(Checkpoint.objects.order_by("number").values_list("step", "node")) == [
        (0, "look"),
        (1, "refund"),
    ]
    hosted.decide("approve")
    hosted.work()
    branch = Branch.objects.get()
    head = Checkpoint.objects.get(pk=branch.head)
    assert (branch.state, head.node, head.step) == ("succeeded", "end", 2)
