"""A hosted run with a timer: no worker is held, and it goes on when the time has come."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from reviewhub_agents import wire
from reviewhub_agents.client import Client
from reviewhub_agents.runners import poll
from reviewhub_agents.runtime import messages

from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM
from reviewhub.gates.errors import BranchPaused
from reviewhub.gates.sleep import sleep
from reviewhub.hosting.checks import graphs_work
from reviewhub.hosting.models import Record
from reviewhub.hosting.rescue import rescue
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.fence import StaleEpoch
from reviewhub.runs.models import Branch
from tests.cast import Cast, make_test_agent
from tests.hosting.conftest import Hosted, run_out
from tests.hosting.graphs import napper as napping
from tests.hosting.keepers import django_transport


@pytest.fixture
def napper(hosted: Hosted, settings: Any) -> Hosted:
    settings.HOSTED_GRAPHS = {"payer": "tests.hosting.graphs:napper"}
    return hosted


def time_has_come() -> None:
    """The recorded time is one long ago, and the waking is due."""
    row = Record.objects.get()
    kept = messages.kept_of(row.value)
    row.value = messages.kept_text(replace(kept, value='"2020-01-01T00:00:00+00:00"'))
    row.save(update_fields=["value"])
    run_out()


def test_a_run_that_sleeps_is_woken_when_it_is_time(napper: Hosted) -> None:
    napper.start()
    assert napper.work() == 1
    branch = Branch.objects.get()
    assert (branch.state, branch.lease_until) == ("resuming", None)
    waking = Resumption.objects.open().get()
    assert timedelta(minutes=29) < waking.due_at - timezone.now() <= timedelta(minutes=30)
    assert Event.objects.filter(kind="branch.sleeping").count() == 1
    assert (napper.work(), rescue()) == (0, 0)  # it is nobody's, and nobody forgot it
    run_out()  # a waking that comes too early: it sleeps on, until the same time
    assert napper.work() == 1
    assert Resumption.objects.open().get().due_at == waking.due_at
    time_has_come()
    assert napper.work() == 1
    branch.refresh_from_db()
    assert branch.state == "succeeded"
    assert set(Resumption.objects.values_list("state", flat=True)) == {"done"}


def test_an_agent_in_its_author_s_own_process_sleeps_too(cast: Cast) -> None:
    _, _, token = make_test_agent(cast.support, name="Outside")
    client = Client("http://testserver", key=token, patience=0, transport=django_transport())
    made = client.start_run(wire.RunStart(input={})).id
    assert poll.run_on(client, napping, made) == "paused"
    assert poll.go_on(client, napping, wait=0) == 0
    time_has_come()
    assert poll.go_on(client, napping, wait=0) == 1
    assert client.get_run(made).state.value == "succeeded"
    assert client.resumptions().items == []
    assert Resumption.objects.get().state == "done"


def test_only_the_holder_of_a_branch_puts_it_to_sleep(hosted: Hosted) -> None:
    hosted.start()
    branch = Branch.objects.get()
    given: Any = {"branch_id": branch.pk, "kind": "hosted", "actor": SYSTEM}
    later = timezone.now() + timedelta(hours=1)
    with pytest.raises(StaleEpoch):
        sleep(until=later, epoch=branch.epoch + 7, **given)
    hosted.work()  # it waits for people now
    branch.refresh_from_db()
    with pytest.raises(BranchPaused):
        sleep(until=later, epoch=branch.epoch, **given)


def test_a_graph_that_may_surprise_its_author_is_a_warning_at_start(settings: Any) -> None:
    settings.HOSTED_GRAPHS = {"napper": "tests.hosting.graphs:napper"}
    (found,) = graphs_work(None)
    assert (found.id, "only at both ends" in found.msg) == ("reviewhub.W001", True)
