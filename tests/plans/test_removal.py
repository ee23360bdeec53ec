"""Plans go with the last checkpoint of their run, by a removal, and by nothing else."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.plans.remove import remove
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Branch, Run
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of
from tests.retention.conftest import age, rule

PLAN = {"steps": [{"id": "a", "title": "A"}]}


def planned(agent: AgentHttp) -> str:
    """A finished run with a checkpoint and a plan that was marked."""
    run = agent.run()
    agent.post(f"/runs/{run['id']}/plans", PLAN, key="k").ok(201)
    agent.post(f"/runs/{run['id']}/plans/1/marks", {"marks": [{"step": "a", "status": "done"}]}).ok()
    checkpoint = {"state": {"n": 1}, "plan": {"version": 1, "step": 1}}
    agent.post(f"/runs/{run['id']}/checkpoints", checkpoint).ok(201)
    agent.post(f"/branches/{run['branches'][0]['id']}/finish", {}).ok()
    return str(run["id"])


def test_nobody_removes_a_plan_by_itself(cast: Cast) -> None:
    run = planned(agent_of(cast.support))
    with pytest.raises(IntegrityError, match="rows are never removed"), transaction.atomic():
        remove(run_id=uuid.UUID(run))
    assert (PlanVersion.objects.count(), StepMark.objects.count()) == (1, 1)


def test_when_all_states_of_a_run_go_its_plans_go_and_those_of_others_stay(cast: Cast) -> None:
    agent = agent_of(cast.support)
    run, other = planned(agent), planned(agent)
    rule(Run.objects.get(pk=run), delete_days=7)
    age(8)
    prune(run_id=uuid.UUID(run))
    assert not Checkpoint.objects.filter(run=run).exists()
    assert [str(row.run_id) for row in PlanVersion.objects.all()] == [other]
    assert [str(row.version.run_id) for row in StepMark.objects.all()] == [other]
    assert agent.get(f"/runs/{run}/plans").ok() == {"items": []}
    again = agent.post(f"/runs/{run}/plans", PLAN, key="k")
    assert (again.status, again.code) == (410, "states_removed")


def test_who_asks_for_a_removed_plan_is_told_and_a_stranger_is_not(cast: Cast) -> None:
    agent, other = agent_of(cast.support), agent_of(cast.support, "Neighbour")
    run = planned(agent)
    branch = Branch.objects.get(run=run).pk
    assert agent.get(f"/runs/{run}/plans/2").status == 404
    assert agent.get(f"/branches/{branch}/records/k").status == 404
    rule(Run.objects.get(pk=run), delete_days=7)
    age(8)
    prune(run_id=uuid.UUID(run))
    at = [f"/runs/{run}/plans/1", f"/runs/{run}/plans/1/marks", f"/runs/{run}/plans/1/difference/1"]
    for address in (*at, f"/branches/{branch}/records/k"):
        told = agent.get(address)
        assert (told.status, told.code, told.json["run"]) == (410, "states_removed", run)
        assert told.json["because"] == "delete 7 days after the end"
        assert other.get(address).status == 404
    back = PersonHttp(cast.bob).post(
        f"/runs/{run}/plans/1/restore", {"base": 1, "reason": "as it was"}, key="r"
    )
    assert (back.status, back.code) == (410, "states_removed")
    client = Client()
    client.force_login(cast.alice.person)
    page = client.get(f"/{cast.workspace.slug}/runs/{run}/plan/1")
    assert page.status_code == 410
    assert b"Go to the run" in page.content


def test_a_run_that_lost_nothing_has_no_such_plan(cast: Cast) -> None:
    agent = agent_of(cast.support)
    assert agent.get(f"/runs/{agent.run()['id']}/plans/1").code == "not_found"


def test_while_a_state_stays_the_plan_stays(cast: Cast) -> None:
    run = planned(agent_of(cast.support))
    rule(Run.objects.get(pk=run), keep_last=1, max_age_days=1)
    age(8)
    prune(run_id=uuid.UUID(run))
    assert PlanVersion.objects.count() == 1
