"""Agents and teams on their pages: stopped and started, given to other teams, named so that they can be told apart."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.audit.models import Event
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy
from reviewhub.runs.models import Run
from tests.cast import Cast, make_test_agent
from tests.driver import AgentHttp, policy
from tests.web.make import waiting

As = Callable[[Member], Client]


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_a_stopped_agent_is_started_again(cast: Cast, as_: As) -> None:
    agent, _, _ = make_test_agent(cast.support)
    client, where = as_(cast.alice), f"/northwind/agents/{agent.pk}"
    page = text(client, "/northwind/agents")
    assert "Stop this agent" in page and "can be started again" in page and f"{where}/start" not in page
    client.post(f"{where}/stop", {"reason": "Runs wild"})
    page = text(client, "/northwind/agents")
    assert f"{where}/start" in page and "again</span></button>" in page and "Stop this agent" not in page
    for _ in range(2):
        assert client.post(f"{where}/start").status_code == 302
    assert Agent.objects.get().stopped_at is None
    assert Event.objects.filter(kind="agent.started").count() == 1
    assert "Stop this agent" in text(client, "/northwind/agents")


def test_an_agent_is_given_to_another_team(cast: Cast, as_: As) -> None:
    agent, _, _ = make_test_agent(cast.support)
    client = as_(cast.alice)
    for _ in range(2):
        answer = client.post(f"/northwind/agents/{agent.pk}/team", {"team": str(cast.finance.pk)})
        assert answer.status_code == 302
    assert Agent.objects.get().team == cast.finance
    event = Event.objects.get(kind="agent.moved")
    assert event.payload.sentence == "Alice gave the agent Support agent to Finance"
    theirs = Team.objects.get(workspace=cast.other)
    answer = client.post(f"/northwind/agents/{agent.pk}/team", {"team": str(theirs.pk)})
    assert answer.status_code == 422


def test_no_team_is_chosen_beforehand_and_one_without_deciders_is_said(cast: Cast, as_: As) -> None:
    empty = Team.objects.create(workspace=cast.workspace, name="Audit")
    cast.carol.teams.add(empty)  # a manager decides nothing
    client = as_(cast.alice)
    form = text(client, "/northwind/agents").split('id="n-team"')[1].split("</select>")[0]
    assert "selected" not in form and form.index('value=""') < form.index(str(empty.pk))
    assert "Audit (nobody who can decide)" in form and "Support (nobody" not in form
    assert client.post("/northwind/agents/new", {"name": "Shop bot"}).status_code == 422
    page = client.post("/northwind/agents/new", {"name": "Bot", "team": str(empty.pk)}, follow=True)
    assert "Nobody in Audit can decide" in unescape(page.content.decode())


@pytest.mark.parametrize("name", ["finance", "FINANCE", " Finance "])
def test_names_that_differ_in_case_only_are_one_name(cast: Cast, as_: As, name: str) -> None:
    client = as_(cast.alice)
    assert client.post("/northwind/people/teams", {"name": name}).status_code == 409
    rename = f"/northwind/people/teams/{cast.support.pk}/rename"
    assert client.post(rename, {"name": name}).status_code == 409
    with pytest.raises(IntegrityError), transaction.atomic():
        Team.objects.create(workspace=cast.workspace, name=name.strip().lower())
    make_test_agent(cast.support, name="Finance")
    body = {"name": name, "team": str(cast.support.pk)}
    assert client.post("/northwind/agents/new", body).status_code == 409


def test_letters_beyond_ascii_have_cases_too(cast: Cast, as_: As) -> None:
    client = as_(cast.alice)
    assert client.post("/northwind/people/teams", {"name": "Ärzte"}).status_code == 302
    assert client.post("/northwind/people/teams", {"name": "ÄRZTE"}).status_code == 409


def test_a_renamed_team_is_renamed_in_the_policy(cast: Cast, as_: As) -> None:
    rule = {"name": "Refunds", "tool": "refund", "action": "require", "team": "Finance", "approvals": 1}
    policy(cast.support, rule)
    client, where = as_(cast.alice), f"/northwind/people/teams/{cast.finance.pk}/rename"
    assert client.post(where, {"name": "Money"}).status_code == 302
    latest = current(cast.workspace.pk)
    assert latest is not None and latest.number == 2
    assert parse_policy(latest.rules).teams() == {"Money"}
    event = Event.objects.get(kind="team.renamed")
    assert event.payload.sentence == "Alice renamed the team Finance to Money"
    assert client.post(where, {"name": "MONEY"}).status_code == 302, "its own name in other letters"
    assert client.post(where, {"name": "MONEY"}).status_code == 302
    assert Event.objects.filter(kind="team.renamed").count() == 2


def test_a_sentence_of_a_tool_without_a_schema_is_taken_with_a_warning(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client, where = as_(cast.alice), f"/northwind/tools/{row.agent.tools.get().pk}/change"
    page = client.post(where, {"sentence": "Refund {nobody}", "risk": ""}, follow=True).content.decode()
    assert "has no schema: nobody knows whether its calls have nobody" in page
    page = client.post(where, {"sentence": "Refund", "risk": ""}, follow=True).content.decode()
    assert "has no schema" not in page


def test_an_admin_says_what_becomes_of_states_that_do_not_fit(cast: Cast, as_: As) -> None:
    agent, _, token = make_test_agent(cast.support)
    AgentHttp(token=token).put("/states/order/3", {"schema": {"type": "object"}}).ok()
    client, where = as_(cast.alice), f"/northwind/agents/{agent.pk}/states"
    page = text(client, "/northwind/agents")
    assert "order</bdi> v3" in page and '<option value="warn" selected>' in page
    for _ in range(2):
        assert client.post(where, {"validation": "strict"}).status_code == 302
    assert Agent.objects.get().state_validation == "strict"
    event = Event.objects.get(kind="agent.validation_set")
    assert event.payload.sentence == "Alice set the checking of states of Support agent to strict"
    assert client.post(where, {"validation": "sometimes"}).status_code == 422
    assert '<option value="strict" selected>' in text(client, "/northwind/agents")


def test_an_agent_that_runs_here_is_registered_and_started(cast: Cast, as_: As) -> None:
    alice, bob = as_(cast.alice), as_(cast.bob)
    given = {"name": "Desk", "team": str(cast.support.pk), "graph": "support"}
    assert "Here: support" in text(alice, "/northwind/agents")
    assert alice.post("/northwind/agents/new", given).status_code == 302
    agent = Agent.objects.get(name="Desk")
    where = f"/northwind/agents/{agent.pk}/run"
    assert Event.objects.filter(kind="agent.made", agent_id=agent.pk).count() == 1
    # Alice registers agents, and is in no team that looks after this one.
    assert where not in text(alice, "/northwind/agents") and where in text(bob, "/northwind/agents")
    assert '"wish"' in text(bob, where)
    for wrong in ("{", "[1]"):
        answer = bob.post(where, {"title": "T", "environment": "test", "input": wrong})
        assert answer.status_code == 422 and 'value="T"' in answer.content.decode()
    assert not Run.objects.exists()
    good = {"title": "Crushed", "environment": "test", "input": '{"wish": "money back"}', "key": "k"}
    for again in (False, True):  # a form that is sent twice starts one run
        answer = bob.post(where, good)
        run = Run.objects.get()
        assert answer["Location"] == f"/northwind/runs/{run.pk}", again
    assert bob.post(where, {**good, "environment": "x" * 41, "key": "l"}).status_code == 422
    assert (run.title, run.environment, run.started_by) == ("Crushed", "test", cast.bob)
    answer = alice.post("/northwind/agents/new", {**given, "graph": "nobody's", "name": "Other"})
    assert answer.status_code == 422


def test_who_makes_keys_reads_what_a_program_needs(cast: Cast, as_: As) -> None:
    page = text(as_(cast.alice), "/northwind/agents")
    assert "REVIEWHUB_URL=http://testserver" in page and 'href="/api/v1/schema"' in page
    assert "REVIEWHUB_KEY" not in text(as_(cast.bob), "/northwind/agents")
