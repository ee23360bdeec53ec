"""Taking a branch: a lost answer is given again, and nobody else gets in by it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from reviewhub.core.clock import DbNow
from reviewhub.core.models import IdempotencyKey
from reviewhub.runs.lease import claim
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call
from tests.racing import together
from tests.shared import shared

BODY = {"owner": "worker 7", "lease": "PT60S"}


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def started(agent: AgentHttp) -> tuple[str, str]:
    """A new run and the path of its branch's claim."""
    run = agent.run()["id"]
    return run, f"/branches/{Branch.objects.get(run=run).pk}/claim"


def branch_of(run: str) -> Branch:
    return Branch.objects.get(run=run)


@pytest.mark.django_db
def test_who_lost_the_answer_is_told_its_epoch_again(agent: AgentHttp) -> None:
    run, path = started(agent)
    first = agent.post(path, BODY, key="mine").ok(200)
    again = agent.post(path, BODY, key="mine").ok(200)
    assert again == first
    assert branch_of(run).epoch == first["epoch"]
    saved = {"state": {"n": 1}, "epoch": again["epoch"]}
    agent.post(f"/runs/{run}/checkpoints", saved).ok(201)


@pytest.mark.django_db
def test_another_key_is_another_holder_and_stays_out(agent: AgentHttp) -> None:
    _, path = started(agent)
    agent.post(path, BODY, key="mine").ok(200)
    for _ in range(2):
        assert agent.post(path, BODY, key="another").code == "branch_held"
    assert agent.post(path, {**BODY, "owner": "worker 8"}, key="mine").code == "idempotency_conflict"
    assert agent.post(path, BODY, key="mine").status == 200


@pytest.mark.django_db
def test_a_key_that_was_turned_away_may_try_again(agent: AgentHttp) -> None:
    run, path = started(agent)
    held = agent.post(path, BODY, key="mine").ok(200)
    assert agent.post(path, BODY, key="another").code == "branch_held"
    Branch.objects.filter(run=run).update(lease_until=DbNow() - timedelta(seconds=1))
    assert agent.post(path, BODY, key="another").ok(200)["epoch"] == held["epoch"] + 1


@pytest.mark.django_db
def test_an_answer_that_comes_late_is_of_the_same_epoch_until_that_is_over(agent: AgentHttp) -> None:
    run, path = started(agent)
    first = agent.post(path, BODY, key="mine").ok(200)
    # The lease ran out, nobody else came: it is still this holder's, who may renew it.
    Branch.objects.filter(run=run).update(lease_until=DbNow() - timedelta(seconds=1))
    late = agent.post(path, BODY, key="mine").ok(200)
    assert late["epoch"] == first["epoch"]
    assert late["lease_until"] < first["lease_until"]
    claim(branch_id=branch_of(run).pk, owner="somebody else", seconds=60)
    refused = agent.post(path, BODY, key="mine")
    assert (refused.status, refused.code) == (409, "stale_epoch")
    assert branch_of(run).lease_owner == "somebody else"


@pytest.mark.django_db
def test_a_pause_ends_what_was_held(agent: AgentHttp) -> None:
    run, path = started(agent)
    epoch = agent.post(path, BODY, key="mine").ok(200)["epoch"]
    agent.pause(run, call(), epoch=epoch).ok(201)
    assert agent.post(path, BODY, key="mine").code == "stale_epoch"


@pytest.mark.django_db
def test_a_key_is_needed(agent: AgentHttp) -> None:
    _, path = started(agent)
    refused = agent.post(path, BODY, key="ü")
    assert (refused.status, refused.code) == (422, "invalid")
    assert not IdempotencyKey.objects.filter(scope__startswith="claim:").exists()


@pytest.mark.django_db(transaction=True)
def test_sent_twice_at_once_it_is_one_claim(agent: AgentHttp) -> None:
    run, path = started(agent)
    before = branch_of(run).epoch

    def take() -> Any:
        return AgentHttp(token=agent.token).post(path, BODY, key="mine").ok(200)["epoch"]

    assert set(together(take, take)) == {before + 1}
