"""Teams, agents and their keys."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from reviewhub.accounts.make_agent import make_agent
from reviewhub.accounts.make_key import make_key
from reviewhub.accounts.make_team import NameTaken, make_team
from reviewhub.accounts.models import Agent, AgentKey, Team
from reviewhub.accounts.queries import key_behind
from reviewhub.accounts.revoke_key import revoke_key
from reviewhub.accounts.rotate_key import rotate_key
from reviewhub.audit.models import Event, EventPayload
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid, StaleState
from reviewhub.policies.rename_team import rename_team
from tests.accounts.test_people import said
from tests.cast import ALICE, Cast, make_test_agent
from tests.shared import shared

pytestmark = pytest.mark.django_db


@shared
def agent(cast: Cast) -> Agent:
    return make_agent(team=cast.support, name="Refunds", owner=cast.bob, actor=ALICE)


def test_a_team_name_is_taken_once_per_workspace(cast: Cast) -> None:
    assert make_team(workspace=cast.workspace, name=" Legal ", actor=ALICE).name == "Legal"
    with pytest.raises(NameTaken):
        make_team(workspace=cast.workspace, name="Legal", actor=ALICE)
    make_team(workspace=cast.other, name="Legal", actor=SYSTEM)
    assert Team.objects.filter(name="Legal").count() == 2
    assert said() == ["Alice made the team Legal", "system made the team Legal"]


def test_an_agent_belongs_to_its_team(cast: Cast, agent: Agent) -> None:
    assert (agent.workspace_id, agent.runner, agent.graph) == (cast.workspace.pk, "poll", "")
    hosted = make_agent(team=cast.support, name="Hosted", graph="shop.graphs:support", actor=ALICE)
    assert hosted.runner == "hosted"
    with pytest.raises(NameTaken):
        make_agent(team=cast.finance, name="Refunds", actor=ALICE)
    assert said()[0] == "Alice registered the agent Refunds for Support"
    assert Event.objects.filter(agent_id=agent.pk).count() == 1


def test_an_owner_from_elsewhere_is_refused(cast: Cast) -> None:
    with pytest.raises(Invalid):
        make_agent(team=cast.support, name="x", owner=cast.mallory, actor=ALICE)


class TestKeys:
    def test_the_text_is_shown_once_and_kept_nowhere(self, cast: Cast, agent: Agent) -> None:
        made = make_key(agent=agent, name="ci", environment="staging", actor=ALICE, made_by=cast.alice)
        found = key_behind(made.text)
        assert found is not None
        assert (found.pk, found.agent, found.environment) == (made.row.pk, agent, "staging")
        assert made.text not in repr(made)
        secret = made.text[len(made.row.prefix) :]
        assert not any(secret in row.body for row in EventPayload.objects.all())
        assert not any(secret in str(value) for value in AgentKey.objects.values().get().values())

    @pytest.mark.parametrize("environment", ["", "Production", "a b", "1a", "a" * 41, "a\n"])
    def test_an_environment_is_a_plain_word(self, agent: Agent, environment: str) -> None:
        with pytest.raises(Invalid):
            make_key(agent=agent, name="ci", environment=environment, actor=ALICE)

    def test_revoking_ends_that_key_only(self, agent: Agent) -> None:
        first = make_key(agent=agent, name="one", environment="production", actor=ALICE)
        second = make_key(agent=agent, name="two", environment="production", actor=ALICE)
        revoke_key(key=first.row, actor=ALICE)
        assert key_behind(first.text) is None
        assert key_behind(second.text) is not None
        with pytest.raises(StaleState):
            revoke_key(key=AgentKey.objects.get(pk=first.row.pk), actor=ALICE)
        assert said().count(f"Alice revoked the key {first.row.prefix} of Refunds") == 1

    def test_rotating_replaces_it_at_once(self, agent: Agent) -> None:
        old = make_key(agent=agent, name="main", environment="production", actor=ALICE)
        new = rotate_key(key=old.row, actor=ALICE)
        assert key_behind(old.text) is None
        found = key_behind(new.text)
        assert found is not None
        assert (found.name, found.environment) == ("main", "production")
        with pytest.raises(StaleState):
            rotate_key(key=old.row, actor=ALICE)
        assert AgentKey.objects.count() == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [("Ärzte", "ÄRZTE"), ("Straße", "STRASSE"), ("E\u0301quipe", "\u00e9quipe"), ("\ufb01nance", "Finance")],
)
def test_the_database_refuses_the_second_of_two(cast: Cast, first: str, second: str) -> None:
    """Not only the verb, which two people may call at the same moment."""
    make_team(workspace=cast.other, name=first, actor=SYSTEM)
    with pytest.raises(IntegrityError), transaction.atomic():
        Team.objects.create(workspace=cast.other, name=second)
    with pytest.raises(NameTaken):
        make_team(workspace=cast.other, name=second, actor=SYSTEM)
    make_test_agent(cast.support, name=first)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_test_agent(cast.support, name=second)
    with pytest.raises(NameTaken):
        make_agent(team=cast.support, name=second, actor=ALICE)


def test_a_renamed_team_leaves_its_name_to_others(cast: Cast) -> None:
    rename_team(team=cast.finance, name="Ärzte", actor=ALICE)
    make_team(workspace=cast.workspace, name="finance", actor=ALICE)
    with pytest.raises(NameTaken):
        rename_team(team=cast.support, name="ärzte", actor=ALICE)
    assert rename_team(team=cast.support, name="SUPPORT", actor=ALICE).name == "SUPPORT"
