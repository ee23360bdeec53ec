"""Plans go with the last checkpoint of their run, by a removal, and by nothing else."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, transaction

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.plans.models import PlanVersion, StepMark
from reviewhub.plans.remove import remove
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Run
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of
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
    assert agent.post(f"/runs/{run}/plans", PLAN, key="k").status == 404


def test_while_a_state_stays_the_plan_stays(cast: Cast) -> None:
    run = planned(agent_of(cast.support))
    rule(Run.objects.get(pk=run), keep_last=1, max_age_days=1)
    age(8)
    prune(run_id=uuid.UUID(run))
    assert PlanVersion.objects.count() == 1
