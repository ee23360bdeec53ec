"""The outbox: one waking per settlement, hints that may be lost, answers that end it."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest
from django.db import transaction

from reviewhub.accounts.models import AgentKey
from reviewhub.core.clock import now
from reviewhub.resumptions.abandon import abandon
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.queries import claimable, open_for
from reviewhub.runs.models import Branch
from tests.resumptions.conftest import World

SEND = "celery.Celery.send_task"


def test_one_settlement_is_enqueued_once(world: World) -> None:
    first = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    again = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    assert again.pk == first.pk
    assert Resumption.objects.count() == 1
    assert Branch.objects.get().state == "resuming"


def test_a_later_settlement_takes_the_place_of_an_open_one(world: World) -> None:
    first = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    type(world.pause).objects.update(version=2)
    second = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    first.refresh_from_db()
    assert (first.state, second.state) == ("abandoned", "queued")
    assert first.ended_at is not None


@pytest.mark.django_db(transaction=True)
def test_outside_of_a_transaction_nothing_is_enqueued(world: World) -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        enqueue(branch=world.branch, pause=world.pause, kind="poll")
    with pytest.raises(RuntimeError, match="transaction"):
        abandon(branches=[world.branch])
    assert not Resumption.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_hint_goes_out_after_commit_and_carries_the_id_only(world: World) -> None:
    with mock.patch(SEND) as send, transaction.atomic():
        row = enqueue(branch=world.branch, pause=world.pause, kind="hosted")
        assert not send.called
    assert send.call_args.args == ("reviewhub.hosting.tasks.resume",)
    assert send.call_args.kwargs["args"] == [str(row.pk)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["poll", "hosted"])
def test_a_waking_that_polls_or_is_due_later_sends_no_hint(world: World, kind: str) -> None:
    due = now() + timedelta(minutes=1) if kind == "hosted" else None
    with mock.patch(SEND) as send, transaction.atomic():
        enqueue(branch=world.branch, pause=world.pause, kind=kind, due_at=due)
    assert not send.called


@pytest.mark.django_db(transaction=True)
def test_a_dead_broker_loses_the_hint_and_nothing_else(world: World) -> None:
    with mock.patch(SEND, side_effect=ConnectionError("no broker")), transaction.atomic():
        row = enqueue(branch=world.branch, pause=world.pause, kind="hosted")
    assert list(claimable()) == [row]


def test_the_first_write_of_a_polling_agent_ends_its_waking(world: World) -> None:
    row = enqueue(branch=world.branch, pause=world.pause, kind="poll")
    assert list(open_for(world.key)) == [row]
    assert list(claimable()) == []
    acknowledge(branch=world.branch)
    row.refresh_from_db()
    assert row.state == "done"
    assert Branch.objects.get().state == "running"
    assert list(open_for(world.key)) == []
    acknowledge(branch=world.branch)


def test_a_write_does_not_end_a_hosted_waking(world: World) -> None:
    row = enqueue(branch=world.branch, pause=world.pause, kind="hosted")
    acknowledge(branch=world.branch)
    row.refresh_from_db()
    assert row.state == "queued"
    assert Branch.objects.get().state == "resuming"
    assert list(open_for(world.key)) == []


def test_another_environment_and_another_agent_see_nothing(world: World) -> None:
    enqueue(branch=world.branch, pause=world.pause, kind="poll")
    assert len(open_for(world.key)) == 1
    assert len(open_for(AgentKey(agent=world.agent, environment="staging"))) == 0
    other = type(world.agent).objects.create(
        workspace=world.agent.workspace, team=world.agent.team, name="other"
    )
    assert len(open_for(AgentKey(agent=other, environment="production"))) == 0


def test_abandon_ends_what_is_open(world: World) -> None:
    row = enqueue(branch=world.branch, pause=world.pause, kind="hosted")
    assert abandon(branches=[world.branch]) == 1
    row.refresh_from_db()
    assert (row.state, row.lease_until) == ("abandoned", None)
    assert row.ended_at is not None
    assert abandon(branches=[world.branch]) == 0
