"""Everybody × every action × own team, another team, the whole workspace, another workspace."""

from __future__ import annotations

import itertools
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from reviewhub.accounts.models import Agent, AgentKey, Member, Person, Role, Team, Workspace
from reviewhub.accounts.permissions import (
    Action,
    AgentCaller,
    AgentStopped,
    Caller,
    MemberCaller,
    Target,
    allowed,
    require,
    scope_of,
    sees,
)
from reviewhub.core.errors import Forbidden, NotFound
from tests.cast import Cast, caller

NORTHWIND, CONTOSO = uuid.UUID(int=1), uuid.UUID(int=2)
SUPPORT, FINANCE = uuid.UUID(int=11), uuid.UUID(int=12)
AGENT, OTHER_AGENT = uuid.UUID(int=21), uuid.UUID(int=22)
NOW = datetime(2026, 1, 1, tzinfo=UTC)

TARGETS = {
    "own": Target(workspace_id=NORTHWIND, team_ids=frozenset({SUPPORT, uuid.UUID(int=13)}), agent_id=AGENT),
    "other team": Target(workspace_id=NORTHWIND, team_ids=frozenset({FINANCE}), agent_id=OTHER_AGENT),
    "workspace": Target(workspace_id=NORTHWIND),
    "elsewhere": Target(workspace_id=CONTOSO, team_ids=frozenset({SUPPORT}), agent_id=AGENT),
    "elsewhere, whole": Target(workspace_id=CONTOSO),
}


def person(role: str, *teams: uuid.UUID, active: bool = True, known: bool = True) -> MemberCaller:
    member = Member(
        workspace=Workspace(id=NORTHWIND), person=Person(is_active=known), role=role, is_active=active
    )
    made = MemberCaller(member)
    made.__dict__.update(team_ids=frozenset(teams), lent_team_ids=frozenset())
    return made


def program(*, stopped: bool = False, revoked: bool = False) -> AgentCaller:
    agent = Agent(
        id=AGENT, workspace_id=NORTHWIND, team=Team(id=SUPPORT), stopped_at=NOW if stopped else None
    )
    key = AgentKey(workspace_id=NORTHWIND, agent=agent, revoked_at=NOW if revoked else None)
    return AgentCaller(key=key, agent=agent)


CALLERS: dict[str, Caller] = {
    "reviewer": person(Role.REVIEWER, SUPPORT),
    "manager": person(Role.MANAGER),
    "manager in team": person(Role.MANAGER, SUPPORT),
    "admin": person(Role.ADMIN),
    "admin in team": person(Role.ADMIN, SUPPORT),
    "agent": program(),
    "stopped agent": program(stopped=True),
    "disabled member": person(Role.ADMIN, SUPPORT, active=False),
    "disabled person": person(Role.ADMIN, SUPPORT, known=False),
    "revoked key": program(revoked=True),
}

# One letter a caller: r reviewer, m manager (in a team or not), a admin in no team, A admin in the team, g
# agent, s stopped agent. First what belongs to the own team or agent, then to another, then to the whole
# workspace.
TABLE = {
    Action.QUEUE_READ: ("rmaA", "maA", "rmaA"),
    Action.REQUEST_READ: ("rmaA", "maA", "rmaA"),
    Action.REQUEST_DECIDE: ("rA", "", ""),
    Action.REQUEST_CLAIM: ("rA", "", ""),
    Action.VOTES_LEND: ("raA", "aA", "raA"),
    Action.REQUEST_COMMENT: ("rmaA", "maA", "rmaA"),
    Action.REQUEST_ASK: ("rmaA", "maA", "rmaA"),
    Action.RUN_READ: ("rmaAgs", "maA", "rmaAgs"),
    Action.RUN_WRITE: ("g", "", "g"),
    Action.RUN_START: ("rA", "", ""),
    Action.RUN_CANCEL: ("raAg", "aA", "raAg"),
    Action.RUN_HALT: ("raA", "aA", "raA"),
    Action.RUN_RESUME: ("rA", "", ""),
    Action.OUTCOME_REPORT: ("gs", "", "gs"),
    Action.CHECKPOINT_READ: ("rmaAgs", "maA", "rmaAgs"),
    Action.CHECKPOINT_FORK: ("rAg", "", "g"),
    Action.CHECKPOINT_REWRITE: ("rA", "", ""),
    Action.CHECKPOINT_PIN: ("rmaA", "maA", "rmaA"),
    Action.PLAN_RESTORE: ("rA", "", ""),
    Action.POST_REVIEW_GRADE: ("rmaA", "maA", "rmaA"),
    Action.QUESTION_ANSWER: ("g", "", "g"),
    Action.SECRET_REVEAL: ("rA", "", ""),
    Action.AUDIT_READ: ("maA", "maA", "maA"),
    Action.INSIGHTS_READ: ("maA", "maA", "maA"),
    Action.POLICY_READ: ("rmaA", "maA", "rmaA"),
    Action.POLICY_EXPLAIN: ("rmaAg", "maA", "rmaAg"),
    Action.POLICY_EDIT: ("aA", "aA", "aA"),
    Action.GUARDRAILS_EDIT: ("aA", "aA", "aA"),
    Action.STANDING_READ: ("rmaA", "maA", "rmaA"),
    Action.STANDING_REVOKE: ("raA", "aA", "raA"),
    Action.PEOPLE_READ: ("maA", "maA", "maA"),
    Action.PEOPLE_EDIT: ("aA", "aA", "aA"),
    Action.AGENTS_READ: ("rmaA", "maA", "rmaA"),
    Action.AGENTS_EDIT: ("aA", "aA", "aA"),
    Action.AGENTS_STOP: ("aA", "aA", "aA"),
    Action.TOOLS_READ: ("rmaAgs", "maA", "rmaAgs"),
    Action.TOOLS_DECLARE: ("g", "", "g"),
    Action.STATES_DECLARE: ("g", "", "g"),
    Action.TOOLS_EDIT: ("aA", "aA", "aA"),
    Action.RETENTION_READ: ("maA", "maA", "maA"),
    Action.RETENTION_EDIT: ("aA", "aA", "aA"),
    Action.RUN_HOLD: ("maA", "maA", "maA"),
    Action.RUN_ERASE: ("aA", "aA", "aA"),
}
LETTERS = {
    "reviewer": "r",
    "manager": "m",
    "manager in team": "m",
    "admin": "a",
    "admin in team": "A",
    "agent": "g",
    "stopped agent": "s",
}
COLUMNS = {"own": 0, "other team": 1, "workspace": 2}
CASES = list(itertools.product(CALLERS, Action, TARGETS))


def expected(who: str, action: Action, where: str) -> bool:
    return where in COLUMNS and who in LETTERS and LETTERS[who] in TABLE[action][COLUMNS[where]]


def test_the_table_names_every_action() -> None:
    assert set(TABLE) == set(Action)


@pytest.mark.parametrize("who", CALLERS)
def test_each_may_do_exactly_what_the_table_says(who: str) -> None:
    wrong = [
        (action, where)
        for action, where in itertools.product(Action, TARGETS)
        if allowed(CALLERS[who], action, TARGETS[where]) != expected(who, action, where)
    ]
    assert wrong == []


@pytest.mark.parametrize("who", CALLERS)
def test_what_is_not_seen_is_not_found_and_the_rest_forbidden(who: str) -> None:
    for action, (where, target) in itertools.product(Action, TARGETS.items()):
        somebody = CALLERS[who]
        if expected(who, action, where):
            require(somebody, action, target)
            assert sees(somebody, target), "nobody may do something to what they do not see"
            continue
        with pytest.raises((NotFound, Forbidden)) as raised:
            require(somebody, action, target)
        assert isinstance(raised.value, NotFound) != sees(somebody, target), (action, where)


def test_nobody_sees_another_workspace_and_the_inactive_see_nothing() -> None:
    for (who, somebody), (where, target) in itertools.product(CALLERS.items(), TARGETS.items()):
        if where.startswith("elsewhere") or who not in LETTERS:
            assert not sees(somebody, target), (who, where)


def test_a_stopped_agent_is_told_so_where_it_could_have_acted() -> None:
    with pytest.raises(AgentStopped) as stopped:
        require(CALLERS["stopped agent"], Action.RUN_WRITE, TARGETS["own"])
    assert (stopped.value.code, stopped.value.status) == ("agent_stopped", 403)
    with pytest.raises(Forbidden) as forbidden:
        require(CALLERS["stopped agent"], Action.REQUEST_DECIDE, TARGETS["own"])
    assert forbidden.value.code == "forbidden"


def test_a_key_whose_agent_is_in_another_workspace_opens_nothing() -> None:
    mixed = program()
    mixed.agent.workspace_id = CONTOSO
    assert not any(sees(mixed, target) for target in TARGETS.values())


def test_lists_are_as_narrow_as_single_things() -> None:
    assert scope_of(CALLERS["reviewer"]).team_ids == {SUPPORT}
    assert scope_of(CALLERS["manager"]).team_ids is None
    assert scope_of(CALLERS["agent"]).agent_id == AGENT
    for who in ("disabled member", "disabled person", "revoked key"):
        with pytest.raises(NotFound):
            scope_of(CALLERS[who])


@pytest.mark.django_db
def test_teams_are_read_once_per_caller(cast: Cast, django_assert_num_queries: Any) -> None:
    bob = caller(cast.bob)
    target = Target(workspace_id=cast.workspace.pk, team_ids=frozenset({cast.support.pk}))
    with django_assert_num_queries(1):
        assert allowed(bob, Action.REQUEST_DECIDE, target)
        assert allowed(bob, Action.REQUEST_READ, target)
    assert not allowed(caller(cast.dave), Action.REQUEST_READ, target)
    assert not allowed(caller(cast.mallory), Action.REQUEST_READ, target)
