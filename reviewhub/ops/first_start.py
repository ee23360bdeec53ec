"""The first workspace: people for each role, a team, a policy, agents with keys, and two demos, one that asks."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import transaction

from reviewhub.accounts.keys import make_key
from reviewhub.accounts.kinds import AgentMade, KeyMade, MemberInvited, TeamMade
from reviewhub.accounts.models import Agent, AgentKey, Member, Person, Role, Team, Workspace
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.hosting.demo import OUTREACH, SUPPORT, start_demo
from reviewhub.policies.defaults import NOTE, first_policy
from reviewhub.policies.publish import publish

FIRST_START = Actor(kind="system", name="first start")
TEAM = "Support"
PEOPLE = (
    ("Alice", Role.ADMIN, "changes policy, people, agents and keys"),
    ("Bob", Role.REVIEWER, "decides"),
    ("Carol", Role.MANAGER, "sees every request and run, and reads the record"),
)


@dataclass(frozen=True, kw_only=True)
class DemoAgent:
    """An external agent of the first workspace; its key file is called `name` in lower case with hyphens."""

    name: str
    description: str

    @property
    def key_file(self) -> Path:
        """Where its key is written, readable by its owner only."""
        return Path(settings.VAR) / "keys" / f"{self.name.lower().replace(' ', '-')}.key"


AGENTS = (
    DemoAgent(name="Shop agent", description="The demo in plain Python: asks before it refunds."),
    DemoAgent(name="Replay", description="Plays recorded conversations: reads pass, writes pause."),
)


@dataclass(frozen=True, kw_only=True)
class Started:
    """What was made. The passwords are in no other place."""

    workspace: Workspace
    passwords: dict[str, str] = field(repr=False)


def first_start() -> Started | None:
    """Makes the first workspace, in one transaction; None when there is one already.

    The key files are written before the commit: a file without its key does no harm and is written over by the next
    try, a key whose file is missing would help nobody.
    """
    with transaction.atomic():
        if Workspace.objects.exists():
            return None
        workspace = Workspace.objects.create(slug="demo", name="Demo")
        team = Team.objects.create(workspace=workspace, name=TEAM)
        note("team.made", TeamMade(name=team.name), workspace)
        passwords = {}
        for name, role, _ in PEOPLE:
            email, password = add_person(workspace, team, name=name, role=role)
            passwords[email] = password
        publish(workspace=workspace, rules_text=first_policy(), note=NOTE, base=0, actor=FIRST_START)
        for demo in AGENTS:
            add_agent(workspace, team, demo)
        owner = Member.objects.get(workspace=workspace, role=Role.ADMIN)
        for hosted in (SUPPORT, OUTREACH):
            start_demo(team=team, owner=owner, demo=hosted)
    return Started(workspace=workspace, passwords=passwords)


def add_person(workspace: Workspace, team: Team, *, name: str, role: Role) -> tuple[str, str]:
    """A member and the password made for them; only its hash is stored."""
    email, password = f"{name.lower()}@example.com", secrets.token_urlsafe(12)
    person = Person.objects.create_user(email, password, name=name)
    member = Member.objects.create(workspace=workspace, person=person, role=role)
    if role == Role.REVIEWER:
        member.teams.add(team)
    note("member.invited", MemberInvited(name=name, email=email, role=role), workspace, subject=member)
    return email, password


def add_agent(workspace: Workspace, team: Team, demo: DemoAgent) -> None:
    """An agent with one key, whose text goes to a file."""
    agent = Agent.objects.create(
        workspace=workspace,
        team=team,
        name=demo.name,
        description=demo.description,
    )
    note("agent.made", AgentMade(name=agent.name, team=team.name), workspace, agent=agent)
    new = make_key(environment="production")
    key = AgentKey.objects.create(
        workspace=workspace, agent=agent, name="demo", prefix=new.prefix, key_hash=new.key_hash
    )
    made = KeyMade(agent=agent.name, prefix=key.prefix, environment=key.environment)
    note("key.made", made, workspace, agent=agent, subject=key)
    write_secret(demo.key_file, new.text)


def note(
    kind: str,
    data: AgentMade | KeyMade | MemberInvited | TeamMade,
    workspace: Workspace,
    *,
    agent: Agent | None = None,
    subject: Member | AgentKey | None = None,
) -> None:
    """Records one step."""
    record(
        kind,
        workspace_id=workspace.pk,
        actor=FIRST_START,
        data=data,
        agent_id=agent.pk if agent else None,
        subject_id=subject.pk if subject else None,
    )


def write_secret(path: Path, text: str) -> None:
    """Writes `text` so that nobody but the owner can read it, not even for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")
