"""Whatever changes which lines are about an agent's calls says what that frees before, and the record says it after."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.make_team import NameTaken
from reviewhub.accounts.models import Agent, AgentKey
from reviewhub.audit.models import Event
from reviewhub.policies.give_agent import Frees, give_agent, give_key
from reviewhub.policies.loosening import by_key, by_moving
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.policies.rename_team import NamedInExpression, rename_team
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

pytestmark = pytest.mark.django_db
HOLD: dict[str, Any] = {"action": "require"}


def published(cast: Cast, **layers: Any) -> None:
    publish(
        workspace=cast.workspace, rules_text=json.dumps(layers), note="test",
        base=current_number(cast.workspace.pk), actor=ALICE,
    )  # fmt: skip


@shared
def http(cast: Cast) -> AgentHttp:
    made = agent_of(cast.support)
    for tool in ("refund", "get", "nothing"):
        made.put(f"/tools/{tool}", {"effect": "once"}).ok()
    return made


@shared
def agent(cast: Cast, http: AgentHttp) -> Agent:
    return Agent.objects.select_related("team").get()


MOVED: list[tuple[dict[str, Any], list[str]]] = [
    ({"rules": [{"name": "R", "tool": "*", **HOLD}]}, []),
    (
        {"rules": [{"name": "R", "tool": "get", "action": "allow", "agent_team": "Finance"}]},
        ["get would run by rule R"],
    ),
    ({"rules": [{"name": "R", "tool": "get", "action": "allow", "agent_team": "Support"}]}, []),
    (
        {
            "rules": [
                {"name": "R", "tool": "get", "action": "allow", "agent_team": "Finance", "environment": "production",
                 "when": [{"path": "a", "test": "is", "value": 1}]},
            ]
        },
        ["get would run by rule R where it holds"],
    ),
    (
        {
            "rules": [
                {"name": "R", "tool": "get", **HOLD, "agent_team": "Finance", "deadline_seconds": 9,
                 "on_timeout": "allow"},
            ]
        },
        ["get would run by rule R, when nobody answers in time"],
    ),
    (
        {
            "guardrails": [{"name": "G", "tool": "re*", **HOLD, "agent_team": "Support", "four_eyes": True}],
            "rules": [{"name": "R", "tool": "refund", "action": "allow"}],
        },
        ["refund would not be held by the guardrail G any more", "refund would run by rule R"],
    ),
    (
        {
            "rules": [
                {"name": "No", "tool": "refund", "action": "deny", "agent_team": "Support"},
                {"name": "Yes", "tool": "refund", "action": "allow"},
            ]
        },
        ["refund would not be held by the rule No any more", "refund would run by rule Yes"],
    ),
    (
        {
            "limits": [{"name": "L", "tool": "get", "agent_team": "Support", "window_seconds": 9, "most": 1}],
            "rules": [],
        },
        ["get would not be held by the limit L any more"],
    ),
    (
        {"waiting": [{"name": "W", "agent_team": "Support", "most": 1}], "rules": []},
        ["the waiting limit W would not count its requests any more"],
    ),
    (
        {"guardrails": [{"name": "P", "tool": "rh.plan", **HOLD, "agent_team": "Support"}], "rules": []},
        ["rh.plan would not be held by the guardrail P any more"],
    ),
    (
        {
            "guardrails": [{"name": "E", "tool": "get", **HOLD, "expression": "team == 'Support'"}],
            "rules": [{"name": "R", "tool": "get", "action": "allow"}],
        },
        ["get is looked at by the guardrail E, which asks for the team in its expression"],
    ),
    (
        {"guardrails": [{"name": "E", "tool": "get", **HOLD, "expression": "args.team == 'team'"}], "rules": []},
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("layers", "expected"), MOVED)
def test_what_moving_an_agent_frees(
    cast: Cast, agent: Agent, layers: dict[str, Any], expected: list[str]
) -> None:
    published(cast, **layers)
    assert [str(one) for one in by_moving(agent, cast.finance)] == sorted(expected)
    assert by_moving(agent, cast.support) == []


def test_it_is_listed_before_and_recorded_after(cast: Cast, agent: Agent, http: AgentHttp) -> None:
    published(cast, **MOVED[5][0])
    run = http.run()["id"]
    asked = http.pause(run, call("refund")).ok(201)["tool_calls"][0]
    assert asked["state"] == "waiting"
    alice = PersonHttp(cast.alice).client
    where = f"/northwind/agents/{agent.pk}/team"
    page = alice.post(where, {"team": str(cast.finance.pk)})
    agent.refresh_from_db()
    assert (page.status_code, agent.team) == (409, cast.support)
    text = page.content.decode()
    assert "would run by rule R" in text and "would not be held by the guardrail G any more" in text
    old = alice.post(where, {"team": str(cast.finance.pk), "sure": "sha256:of-another-list"})
    agent.refresh_from_db()
    assert (old.status_code, agent.team) == (409, cast.support), "another list than the one that was seen"
    assert not Event.objects.filter(kind="agent.moved").exists()
    assert alice.post(where, {"team": str(cast.finance.pk), "sure": _sure(text)}).status_code == 302
    agent.refresh_from_db()
    assert agent.team == cast.finance
    told = Event.objects.get(kind="agent.moved")
    assert json.loads(told.payload.body)["data"]["frees"] == sorted(MOVED[5][1])
    seen = alice.get("/northwind/audit").content.decode()
    assert "policy asks less: refund would not be held by the guardrail G any more" in seen


def _sure(page: str) -> str:
    return page.split('name="sure" value="')[1].split('"')[0]


def test_where_nothing_is_freed_it_moves_at_once(cast: Cast, agent: Agent) -> None:
    published(cast, **MOVED[0][0])
    alice = PersonHttp(cast.alice).client
    done = alice.post(f"/northwind/agents/{agent.pk}/team", {"team": str(cast.finance.pk)})
    assert done.status_code == 302
    assert json.loads(Event.objects.get(kind="agent.moved").payload.body)["data"]["frees"] == []


def test_a_list_that_grew_since_is_shown_again(cast: Cast, agent: Agent) -> None:
    published(cast, **MOVED[1][0])
    with pytest.raises(Frees) as first:
        give_agent(agent=agent, team=cast.finance, sure="", actor=ALICE)
    published(cast, **MOVED[5][0])
    with pytest.raises(Frees):
        give_agent(agent=agent, team=cast.finance, sure=first.value.extra["sure"], actor=ALICE)


KEYS: list[tuple[dict[str, Any], list[str]]] = [
    ({"rules": [{"name": "R", "tool": "*", **HOLD}]}, []),
    (
        {"rules": [{"name": "R", "tool": "get", "action": "allow", "environment": "staging"}]},
        ["get would run by rule R"],
    ),
    (
        {
            "guardrails": [{"name": "G", "tool": "get", **HOLD, "environment": "production"}],
            "rules": [{"name": "R", "tool": "get", "action": "allow"}],
        },
        ["get would not be held by the guardrail G any more", "get would run by rule R"],
    ),
    (
        {
            "limits": [{"name": "L", "tool": "get", "environment": "production", "window_seconds": 9, "most": 1}],
            "rules": [],
        },
        ["get would not be held by the limit L any more"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("layers", "expected"), KEYS)
def test_what_a_key_for_another_environment_frees(
    cast: Cast, agent: Agent, layers: dict[str, Any], expected: list[str]
) -> None:
    published(cast, **layers)
    assert [str(one) for one in by_key(agent, "staging")] == expected
    assert by_key(agent, "production") == []
    AgentKey.objects.update(environment="staging")
    assert by_key(agent, "staging") == []


def test_a_key_that_frees_something_is_made_by_who_saw_it(cast: Cast, agent: Agent) -> None:
    published(cast, **KEYS[1][0])
    alice: Client = PersonHttp(cast.alice).client
    given = {"name": "second", "environment": "staging"}
    where = f"/northwind/agents/{agent.pk}/keys"
    page = alice.post(where, given)
    assert (page.status_code, AgentKey.objects.count()) == (409, 1)
    assert alice.post(where, given | {"sure": _sure(page.content.decode())}).status_code == 200
    assert AgentKey.objects.filter(environment="staging").exists()
    told = Event.objects.filter(kind="key.made").latest("id")
    assert json.loads(told.payload.body)["data"]["frees"] == ["get would run by rule R"]
    give_key(agent=agent, name="third", environment="staging", sure="", actor=ALICE, made_by=cast.alice)


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("team == 'Support'", False),
        ('team.startsWith("Support")', False),
        ("team in ['Support', 'Help']", True),
        ("args.team == 'Support'", True),
        ("team == 'Finance'", True),
    ],
)
def test_a_team_is_not_renamed_away_from_an_expression(cast: Cast, expression: str, may: bool) -> None:
    published(cast, guardrails=[{"name": "E", "tool": "*", **HOLD, "expression": expression}], rules=[])
    if may:
        assert rename_team(team=cast.support, name="Help", actor=ALICE).name == "Help"
        return
    with pytest.raises(NamedInExpression, match="The expression of E asks for the team Support"):
        rename_team(team=cast.support, name="Help", actor=ALICE)
    with pytest.raises(NameTaken):
        rename_team(team=cast.finance, name="Support", actor=ALICE)
