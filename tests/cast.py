"""The people of the tests. Try mallory first."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Agent, AgentKey, Member, Person, Role, Team, Workspace
from reviewhub.accounts.permissions import AgentCaller, MemberCaller
from reviewhub.core.actors import Actor

PASSWORD = "correct horse battery staple"
# Alice on a page, also before there is a cast; verbs look her up by this id.
ALICE = Actor(kind="person", id=uuid.UUID(int=0xA11CE), name="Alice", source="page")


@dataclass
class Cast:
    """Northwind with its people, teams and agents; mallory belongs to Contoso."""

    workspace: Workspace
    other: Workspace
    support: Team
    finance: Team
    alice: Member  # admin, in no team
    bob: Member  # reviewer, Support
    dave: Member  # reviewer, Finance
    carol: Member  # manager
    mallory: Member  # admin of the other workspace

    @property
    def people(self) -> dict[str, Member]:
        return {name: getattr(self, name) for name in ("alice", "bob", "carol", "dave", "mallory")}


def member(
    name: str, *, workspace: Workspace, role: str, teams: tuple[Team, ...] = (), **fields: Any
) -> Member:
    """A new person called `name`, with PASSWORD, in `workspace`."""
    person = Person.objects.create_user(f"{name}@example.com", PASSWORD, name=name.title())
    made = Member.objects.create(workspace=workspace, person=person, role=role, **fields)
    made.teams.set(teams)
    return made


def make_cast() -> Cast:
    """The whole cast, in the database."""
    workspace = Workspace.objects.create(slug="northwind", name="Northwind Ltd")
    other = Workspace.objects.create(slug="contoso", name="Contoso")
    support = Team.objects.create(workspace=workspace, name="Support")
    finance = Team.objects.create(workspace=workspace, name="Finance")
    elsewhere = Team.objects.create(workspace=other, name="Support")
    return Cast(
        workspace=workspace,
        other=other,
        support=support,
        finance=finance,
        alice=member("alice", workspace=workspace, role=Role.ADMIN, pk=ALICE.id),
        bob=member("bob", workspace=workspace, role=Role.REVIEWER, teams=(support,)),
        dave=member("dave", workspace=workspace, role=Role.REVIEWER, teams=(finance,)),
        carol=member("carol", workspace=workspace, role=Role.MANAGER),
        mallory=member("mallory", workspace=other, role=Role.ADMIN, teams=(elsewhere,)),
    )


def caller(who: Member) -> MemberCaller:
    """`who` as the permission function sees them, read anew."""
    return MemberCaller(Member.objects.select_related("person", "workspace").get(pk=who.pk))


def by_key(key: AgentKey) -> Actor:
    """The agent of `key`, as it acts through the API."""
    return actor_for(AgentCaller(key=key, agent=key.agent), source="api")


def make_test_agent(team: Team, *, name: str = "Support agent") -> tuple[Agent, AgentKey, str]:
    """An agent of `team` with one key: the agent, the key's row and the key's text."""
    agent = Agent.objects.create(workspace=team.workspace, team=team, name=name)
    return agent, *add_key(agent)


def add_key(agent: Agent) -> tuple[AgentKey, str]:
    """Another key of `agent`: its row and its text."""
    from reviewhub.accounts.keys import make_key

    new = make_key(environment="production")
    key = AgentKey.objects.create(
        workspace_id=agent.workspace_id, agent=agent, name="main", prefix=new.prefix, key_hash=new.key_hash
    )
    return key, new.text
