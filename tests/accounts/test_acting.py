"""Whoever decides or starts something is read anew inside the transaction; no verb forgets it."""

from __future__ import annotations

import ast
import uuid
from pathlib import Path

import pytest
from django.db import transaction

from reviewhub.accounts.acting import NotAnyMore, still_may
from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Agent, AgentKey, Member, Person
from reviewhub.accounts.permissions import Action, AgentStopped, MemberCaller, Target
from reviewhub.core.actors import SYSTEM, TIMEOUT, Actor
from reviewhub.core.clock import now
from tests.cast import Cast, by_key, make_test_agent
from tests.shared import shared

SERVER = Path(__file__).parents[2] / "reviewhub"
# `lock_member` asks, and so do `disable`, `publish` and `save_draft`, which other verbs stand on.
ASKING = {"still_may", "lock_member", "disable", "publish", "save_draft"}
NOT_ASKING = {
    "audit/erase": "an operator's command, no member's",
    "audit/looked": "changes nothing but the record of who read it",
    "audit/record": "writes down what a verb did",
    "audit/rotate_key": "an operator's command, no member's",
    "checkpoints/fork": "a step of gates/fork and gates/rewrite",
    "checkpoints/save": "a step of pause, checkpoint, finish, fail and outcome",
    "gates/ask_again": "a step of consume",
    "gates/carry_plan": "a step of fork and rewrite",
    "gates/end_children": "a step of cancel, fail and rewrite",
    "gates/fork_children": "a step of fork and rewrite",
    "gates/rewrite_once": "`within` asks, the step of rewrite that it stands on",
    "gates/outcome": "what happened is always taken",
    "gates/reconsider": "a step of consume",
    "hosting/adopt": "an operator's command, no member's",
    "hosting/declare": "register_schema asks, which it stands on",
    "hosting/start_once": "`start` asks, which it stands on",
    "plans/write": "a step of plan, restore_plan and carry_plan",
    "reviews/follow_up": "a step of look_back and follow_back, which ask",
    "reviews/grade": "a step of look_back, which asks",
    "reviews/request": "a step of pause and of whatever asks again",
    "reviews/vote": "a step of decide",
    "runs/derive": "follows from what a verb did to a branch",
    "standing/remember": "a step of decide",
    "runs/halt": "a step of gates/halt, which asks, and of limits that are used up",
    "toolcalls/propose": "a step of pause and observe",
}


def verbs() -> dict[str, set[str]]:
    """Every use case that somebody does, with the names of what its file calls."""
    found: dict[str, set[str]] = {}
    for path in sorted(SERVER.glob("*/*.py")):
        tree = ast.parse(path.read_text())
        named = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == path.stem]
        if any(each.arg == "actor" for one in named for each in one.args.args + one.args.kwonlyargs):
            calls = [one.func for one in ast.walk(tree) if isinstance(one, ast.Call)]
            found[f"{path.parent.name}/{path.stem}"] = {one.id for one in calls if isinstance(one, ast.Name)}
    return found


def test_every_verb_asks_under_the_lock_who_acts() -> None:
    found = verbs()
    assert {"reviews/decide", "gates/consume", "runs/start", "policies/publish"} <= found.keys()
    asking = {name for name, calls in found.items() if calls & ASKING}
    assert found.keys() - asking == NOT_ASKING.keys()


def refused(actor: Actor, action: Action, target: Target) -> bool:
    try:
        with transaction.atomic():
            still_may(actor, action, target)
    except NotAnyMore:
        return True
    return False


@shared
def bob_acts(cast: Cast) -> Actor:
    return actor_for(MemberCaller(cast.bob), source="api")


@shared
def request_of_support(cast: Cast) -> Target:
    return Target(workspace_id=cast.workspace.pk, team_ids=frozenset({cast.support.pk}))


class TestPeople:
    def test_as_they_are_now(self, cast: Cast, bob_acts: Actor, request_of_support: Target) -> None:
        assert not refused(bob_acts, Action.REQUEST_DECIDE, request_of_support)
        cast.bob.teams.set([cast.finance])
        assert refused(bob_acts, Action.REQUEST_DECIDE, request_of_support)

    def test_a_disabled_member(self, cast: Cast, bob_acts: Actor, request_of_support: Target) -> None:
        Member.objects.filter(pk=cast.bob.pk).update(is_active=False)
        assert refused(bob_acts, Action.REQUEST_COMMENT, request_of_support)

    def test_a_disabled_person(self, cast: Cast, bob_acts: Actor, request_of_support: Target) -> None:
        Person.objects.filter(pk=cast.bob.person_id).update(is_active=False)
        assert refused(bob_acts, Action.REQUEST_DECIDE, request_of_support)

    def test_another_role(self, cast: Cast, bob_acts: Actor, request_of_support: Target) -> None:
        Member.objects.filter(pk=cast.bob.pk).update(role="manager")
        assert refused(bob_acts, Action.REQUEST_DECIDE, request_of_support)

    def test_another_workspace_and_nobody(self, cast: Cast, request_of_support: Target) -> None:
        mallory = actor_for(MemberCaller(cast.mallory), source="api")
        assert refused(mallory, Action.REQUEST_DECIDE, request_of_support)
        assert refused(Actor(kind="person", name="Bob"), Action.REQUEST_DECIDE, request_of_support)


class TestAgents:
    @pytest.fixture
    def made(self, cast: Cast) -> tuple[Agent, AgentKey]:
        return make_test_agent(cast.support)[:2]

    @pytest.fixture
    def own(self, made: tuple[Agent, AgentKey]) -> Target:
        return Target(workspace_id=made[0].workspace_id, agent_id=made[0].pk)

    def test_a_revoked_key(self, made: tuple[Agent, AgentKey], own: Target) -> None:
        acts = by_key(made[1])
        assert acts.key_id == made[1].pk
        assert not refused(acts, Action.RUN_WRITE, own)
        AgentKey.objects.update(revoked_at=now())
        assert refused(acts, Action.RUN_WRITE, own)
        worker = Actor(kind="agent", id=made[0].pk, name=made[0].name)
        assert not refused(worker, Action.RUN_WRITE, own), "the server's worker acts without a key"

    def test_a_stopped_agent(self, made: tuple[Agent, AgentKey], own: Target) -> None:
        Agent.objects.update(stopped_at=now())
        worker = Actor(kind="agent", id=made[0].pk, name=made[0].name)
        for acts in (by_key(made[1]), worker):
            with pytest.raises(AgentStopped), transaction.atomic():
                still_may(acts, Action.RUN_WRITE, own)
            assert not refused(acts, Action.OUTCOME_REPORT, own)

    def test_the_key_of_another_agent(self, cast: Cast, own: Target) -> None:
        other = make_test_agent(cast.support, name="Other")[1]
        assert refused(by_key(other), Action.RUN_WRITE, own)
        mixed = Actor(kind="agent", id=own.agent_id, name="Support agent", key_id=other.pk)
        assert refused(mixed, Action.RUN_WRITE, own)

    def test_nobody_starts_a_stopped_agent(
        self, cast: Cast, made: tuple[Agent, AgentKey], own: Target, bob_acts: Actor
    ) -> None:
        target = Target(
            workspace_id=own.workspace_id, team_ids=frozenset({cast.support.pk}), agent_id=own.agent_id
        )
        for acts in (bob_acts, SYSTEM):
            assert not refused(acts, Action.CHECKPOINT_FORK, target)
        Agent.objects.update(stopped_at=now())
        for acts in (bob_acts, SYSTEM):
            with pytest.raises(AgentStopped), transaction.atomic():
                still_may(acts, Action.CHECKPOINT_FORK, target)
        assert not refused(bob_acts, Action.RUN_CANCEL, target)


def test_the_system_and_a_timeout_are_nobody_whose_rights_end(request_of_support: Target) -> None:
    for acts in (SYSTEM, TIMEOUT):
        assert not refused(acts, Action.REQUEST_DECIDE, request_of_support)


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_there_is_no_lock() -> None:
    with pytest.raises(RuntimeError):
        still_may(SYSTEM, Action.RUN_READ, Target(workspace_id=uuid.uuid4()))
