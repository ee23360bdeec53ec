"""The line between an agent and the hub is cut when the hub has done what it was asked for: each first answer is lost.

What is on record then is what is on record where none is lost.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from django.apps import apps
from reviewhub_agents import errors, exchange, wire
from reviewhub_agents.client import Client
from reviewhub_agents.runners import poll
from reviewhub_agents.runtime import Graph

from reviewhub.accounts.models import Team
from reviewhub.audit.models import Event
from reviewhub.hosting.models import Record
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Child, Run
from reviewhub.toolcalls.models import Attempt, Pause, ToolCall
from tests.cast import Cast, make_test_agent
from tests.driver import policy
from tests.hosting import families, graphs
from tests.hosting.conftest import Hosted, allow
from tests.hosting.keepers import django_transport

GRAPHS: dict[str, Graph[Any]] = {
    "payer": graphs.payer,
    "desk": families.desk,
    "planner": families.planner,
}


class Losing(httpx.BaseTransport):
    """Does what is asked, and then loses the answer, the first time that it is asked with a key."""

    def __init__(self) -> None:
        self.inner = django_transport()
        self.lost: Counter[str] = Counter()
        self.seen: set[tuple[str, str, str]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        once = (request.method, request.url.path, request.headers.get("idempotency-key", ""))
        if once in self.seen:
            return response
        self.seen.add(once)
        self.lost[f"{request.method} {request.url.path.rpartition('/')[2]}"] += 1
        raise httpx.ReadError("the line was cut", request=request)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.0)
    graphs.new_world()
    families.DONE.clear()


def played(team: Team, person: Any, name: str, transport: httpx.BaseTransport) -> tuple[Run, list[Any]]:
    """A run of a graph from its start to its end, with a person who approves; and what its tools did."""
    agent, _, token = make_test_agent(team, name=f"{name} {type(transport).__name__}")
    graph = GRAPHS[name]
    with Client("http://testserver", key=token, transport=transport) as client:
        poll.register(client, graph)
        policy(team, allow("read"), allow("mail"))
        run = client.start_run(wire.RunStart(input={})).id
        hosted = Hosted(agent=agent, person=person, world=graphs.world)
        poll.run_on(client, graph, run)
        while client.get_run(run).state.value != "succeeded":
            if not poll.go_on(client, graph, wait=0):
                hosted.decide_first("approve")
    done = [*graphs.world.done, *families.DONE]
    graphs.world.done.clear()
    families.DONE.clear()
    return Run.objects.get(pk=run), done


def on_record(run: Run) -> dict[str, int]:
    """How many rows there are about a run and its children."""
    runs = [run, *Run.objects.filter(root=run)]
    return {
        "children": Child.objects.filter(parent_branch__run__in=runs).count(),
        "pauses": Pause.objects.filter(branch__run__in=runs).count(),
        "calls": ToolCall.objects.filter(run__in=runs).count(),
        "attempts": Attempt.objects.filter(tool_call__run__in=runs).count(),
        "records": Record.objects.filter(branch__run__in=runs).count(),
        "plans": PlanVersion.objects.filter(branch__run__in=runs).count(),
        "marks": StepMark.objects.filter(version__branch__run__in=runs).count(),
        **{
            name: apps.get_model(name).objects.filter(run_id__in=[one.pk for one in runs]).count()
            for name in ("checkpoints.Checkpoint", "audit.Event", "reviews.ReviewRequest")
        },
    }


@pytest.mark.django_db
@pytest.mark.alike
@pytest.mark.parametrize("name", GRAPHS)
def test_an_agent_that_never_gets_its_first_answer_does_the_same(cast: Cast, name: str) -> None:
    quiet, done = played(cast.support, cast.bob, name, django_transport())
    losing = Losing()
    run, done_too = played(cast.support, cast.bob, name, losing)
    assert done_too == done and done
    assert on_record(run) == on_record(quiet)
    assert run.result == quiet.result
    expected = {"POST consume", "POST outcome", "POST finish", "POST runs", "POST claim", "PUT mail"}
    more = {"desk": {"POST children", "POST wait"}, "planner": {"POST plans", "POST marks"}}.get(name, set())
    assert (expected | more) - set(losing.lost) <= {"PUT mail"}, losing.lost


@pytest.mark.django_db
def test_who_did_not_hear_that_it_sleeps_asks_again(cast: Cast) -> None:
    _, _, token = make_test_agent(cast.support, name="Outside")
    with Client("http://testserver", key=token, transport=Losing()) as client:
        run = client.start_run(wire.RunStart(input={})).id
        assert poll.run_on(client, graphs.napper, run) == "paused"
        assert Resumption.objects.count() == 1
        assert Event.objects.filter(kind="branch.sleeping").count() == 1
        # Another time, or another holder, is another matter.
        branch = client.get_run(run).branches[0]
        later = wire.SleepBody(until=datetime.now(UTC) + timedelta(hours=9), epoch=branch.epoch - 1)
        with pytest.raises(errors.Conflict, match="stale_epoch"):
            client.sleep(branch.id, later)
        due = Resumption.objects.get().due_at
        held = client.claim_branch(branch.id, wire.ClaimBody(owner="another"))
        with pytest.raises(errors.Conflict, match="stale_epoch"):
            client.sleep(branch.id, wire.SleepBody(until=due, epoch=held.epoch - 2))
