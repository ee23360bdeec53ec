"""Starting runs."""

from __future__ import annotations

import pytest
from reviewhub_agents import wire
from reviewhub_agents.canonical import Number

from reviewhub.accounts.models import AgentKey
from reviewhub.audit.models import Event
from reviewhub.core.errors import Invalid
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.start import OtherEnvironment, start
from tests.cast import Cast, by_key, make_test_agent
from tests.racing import together
from tests.runs.conftest import begin


def test_a_run_begins_with_its_branch_and_an_event(key: AgentKey) -> None:
    body = wire.RunStart(external_id="order-8812", title="Refund 8812")
    run, created = start(key=key, body=body, actor=by_key(key))
    assert created
    assert (run.state, run.environment, run.title) == ("running", "production", "Refund 8812")
    branch = run.branches.get()
    assert (branch.name, branch.state, branch.head, branch.epoch) == ("main", "running", None, 0)
    event = Event.objects.get(run_id=run.id)
    assert (event.kind, event.agent_id) == ("run.started", key.agent_id)


def test_values_are_kept_exactly(key: AgentKey) -> None:
    run = begin(
        key,
        input={"amount": Number("1240.00"), "a": [True, None]},
        labels={"channel": "mail"},
    )
    run.refresh_from_db()
    assert run.input == '{"a":[true,null],"amount":1240.00}'
    assert run.labels == '{"channel":"mail"}'


def test_the_same_external_id_is_the_same_run(key: AgentKey) -> None:
    first, _ = start(key=key, body=wire.RunStart(external_id="a"), actor=by_key(key))
    again, created = start(key=key, body=wire.RunStart(external_id="a"), actor=by_key(key))
    assert (again.id, created) == (first.id, False)
    assert Event.objects.filter(kind="run.started").count() == 1
    assert Branch.objects.count() == 1


def test_runs_without_an_external_id_are_all_new(key: AgentKey) -> None:
    assert begin(key).id != begin(key).id


def test_another_agent_may_use_the_same_external_id(cast: Cast, key: AgentKey) -> None:
    other = make_test_agent(cast.support, name="Another agent")[1]
    assert begin(key, external_id="a").id != begin(other, external_id="a").id


def test_a_key_of_another_environment_does_not_get_the_run(cast: Cast, key: AgentKey) -> None:
    begin(key, external_id="a")
    key.environment = "staging"
    with pytest.raises(OtherEnvironment, match="production"):
        begin(key, external_id="a")


def test_a_parent_is_a_run_of_the_same_agent(cast: Cast, key: AgentKey) -> None:
    parent = begin(key)
    assert begin(key, parent=str(parent.id)).parent == parent
    stranger = begin(make_test_agent(cast.finance, name="Finance agent")[1])
    for wrong in (stranger.id, uuid7()):
        with pytest.raises(Invalid) as refused:
            begin(key, parent=str(wrong))
        assert refused.value.errors[0]["path"] == "/parent"
    assert Run.objects.filter(agent=key.agent).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_starts_at_once_give_one_run(cast: Cast, key: AgentKey) -> None:
    body = wire.RunStart(external_id="a")
    results = together(*[lambda: start(key=key, body=body, actor=by_key(key))] * 4)
    assert len({run.id for run, _ in results}) == 1
    assert sorted(created for _, created in results) == [False, False, False, True]
    assert Event.objects.filter(kind="run.started").count() == 1
