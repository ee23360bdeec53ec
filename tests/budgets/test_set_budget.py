"""Who sets a budget, what the record says, and which one is in force."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.acting import NotAnyMore
from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Agent, Member
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.audit.models import Event
from reviewhub.budgets import queries
from reviewhub.budgets.models import FieldBudget
from reviewhub.budgets.queries import budget_for, default_budget
from reviewhub.budgets.rules import Budget
from reviewhub.budgets.set_budget import set_budget
from reviewhub.checkpoints.models import StateSchema
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from tests.cast import Cast, by_key, make_test_agent

pytestmark = pytest.mark.django_db
SMALL = Budget(field_bytes=1000, step_bytes=100, fields={"messages": 5000, "cache": 0})


@pytest.fixture(autouse=True)
def _known_for_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten at a commit is read anew here, where nothing is committed; `test_warned` is about that."""
    monkeypatch.setattr(queries, "SECONDS", 0)


@pytest.fixture
def agent(cast: Cast) -> Agent:
    return make_test_agent(cast.support)[0]


def by(member: Member) -> Actor:
    return actor_for(MemberCaller(member), source="page", ip="")


def put(agent: Agent, actor: Actor, budget: Budget | None = SMALL, schema: str = "") -> None:
    set_budget(agent=agent, schema_name=schema, budget=budget, actor=actor)


def registered(agent: Agent, name: str) -> None:
    StateSchema.objects.create(
        workspace=agent.workspace, agent=agent, name=name, version=1, schema="{}", fingerprint="x"
    )


@pytest.mark.parametrize("who", ["bob", "carol", "dave", "mallory"])
def test_nobody_but_an_admin_of_the_workspace_sets_one(cast: Cast, agent: Agent, who: str) -> None:
    with pytest.raises(NotAnyMore):
        put(agent, by(getattr(cast, who)))
    assert not FieldBudget.objects.exists()
    assert not Event.objects.filter(kind="budget.set").exists()


def test_an_agent_sets_none_of_its_own(cast: Cast) -> None:
    agent, key, _ = make_test_agent(cast.support)
    with pytest.raises(NotAnyMore):
        put(agent, by_key(key), Budget())
    assert not FieldBudget.objects.exists()


def test_an_admin_who_was_disabled_meanwhile_sets_none(cast: Cast, agent: Agent) -> None:
    alice = by(cast.alice)
    Member.objects.filter(pk=cast.alice.pk).update(is_active=False)
    with pytest.raises(NotAnyMore):
        put(agent, alice)
    assert not FieldBudget.objects.exists()


def test_setting_and_removing_one_is_on_the_record(cast: Cast, agent: Agent) -> None:
    alice = by(cast.alice)
    put(agent, alice)
    put(agent, alice)
    put(agent, alice, Budget(field_bytes=2000))
    put(agent, alice, None)
    put(agent, alice, None)
    events = list(Event.objects.filter(agent_id=agent.pk, kind__startswith="budget.").order_by("id"))
    said = [json.loads(event.payload.body)["data"] for event in events]
    limits = ["each field: 1000", "one checkpoint: 100", "“cache”: any", "“messages”: 5000"]
    assert [event.kind for event in events] == ["budget.set", "budget.set", "budget.removed"]
    assert said == [
        {"agent": agent.name, "state": "", "limits": limits, "before": []},
        {"agent": agent.name, "state": "", "limits": ["each field: 2000"], "before": limits},
        {"agent": agent.name, "state": "", "before": ["each field: 2000"]},
    ]
    assert events[1].payload.sentence == (
        f"Alice set what the states of {agent.name} may weigh: each field: 2000"
    )


@pytest.mark.parametrize(
    ("budget", "path"),
    [
        (Budget(field_bytes=-1), "/field_bytes"),
        (Budget(step_bytes=2**31), "/step_bytes"),
        (Budget(fields={"": 1}), "/fields"),
        (Budget(fields={"x" * 201: 1}), "/fields"),
        (Budget(fields={"x": -1}), "/fields"),
        (Budget(fields={f"f{at}": 1 for at in range(101)}), "/fields"),
    ],
)
def test_a_limit_that_is_none_is_refused(cast: Cast, agent: Agent, budget: Budget, path: str) -> None:
    with pytest.raises(Invalid) as raised:
        put(agent, by(cast.alice), budget)
    assert raised.value.errors[0]["path"] == path
    assert not FieldBudget.objects.exists()


def test_a_schema_that_nobody_registered_gets_none(cast: Cast, agent: Agent) -> None:
    registered(make_test_agent(cast.support, name="Other agent")[0], "refund")
    with pytest.raises(Invalid):
        put(agent, by(cast.alice), schema="refund")
    assert not FieldBudget.objects.exists()


def test_the_schemas_own_budget_comes_before_the_agents_and_that_before_the_default(
    cast: Cast, agent: Agent
) -> None:
    registered(agent, "refund")
    assert budget_for(agent.pk, "refund") == default_budget()
    put(agent, by(cast.alice), Budget(field_bytes=10))
    assert budget_for(agent.pk, "refund") == budget_for(agent.pk) == Budget(field_bytes=10)
    put(agent, by(cast.alice), SMALL, "refund")
    assert budget_for(agent.pk, "refund") == SMALL
    assert budget_for(agent.pk, "other") == Budget(field_bytes=10)
    other, _, _ = make_test_agent(cast.support, name="Other agent")
    assert budget_for(other.pk, "refund") == default_budget()


def test_a_budget_that_is_known_costs_no_query(
    agent: Agent, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SECONDS", 10)
    with django_assert_num_queries(1):
        budget_for(agent.pk)
    with django_assert_num_queries(0):
        budget_for(agent.pk, "refund")
    monkeypatch.setattr(queries.time, "monotonic", lambda: 2**62)
    with django_assert_num_queries(1):
        budget_for(agent.pk)


def signed_in(member: Member) -> Client:
    client = Client()
    client.force_login(member.person)
    return client


def test_the_agents_page_sets_and_shows_it(cast: Cast, agent: Agent) -> None:
    alice, where = signed_in(cast.alice), f"/northwind/agents/{agent.pk}/budget"
    form = {"schema": "", "field_bytes": "1,500", "step_bytes": "", "fields": "messages = 5000\n\na=b = 7\n"}
    assert alice.post(f"{where}/set", form).status_code == 302
    assert budget_for(agent.pk) == Budget(field_bytes=1500, fields={"messages": 5000, "a=b": 7})
    shown = alice.get(where).content.decode()
    assert "1,500 bytes" in shown and "a=b = 7" in shown and "Back to the default" in shown
    carol = signed_in(cast.carol).get(where).content.decode()
    assert "1,500 bytes" in carol and "Set the budget" not in carol
    assert alice.post(f"{where}/set", {"do": "default"}).status_code == 302
    assert not FieldBudget.objects.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"field_bytes": "many"}, "The limit of each field is a whole number of bytes"),
        ({"step_bytes": "-5"}, "What one checkpoint may add is a whole number of bytes"),
        ({"field_bytes": "9999999999"}, "A limit is a whole number of bytes from 0"),
        ({"fields": "messages"}, "each field once"),
        ({"fields": "a = 1\na = 2"}, "each field once"),
        ({"schema": "nothing"}, "has registered no schema"),
    ],
)
def test_a_form_that_is_wrong_comes_back_as_it_was_filled_in(
    cast: Cast, agent: Agent, given: dict[str, str], said: str
) -> None:
    where = f"/northwind/agents/{agent.pk}/budget/set"
    answer = signed_in(cast.alice).post(where, {"schema": "", "step_bytes": "77", **given})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert {"schema", "step_bytes"} & set(given) or 'value="77"' in answer.content.decode()
    assert not FieldBudget.objects.exists()
