"""A branch that paused, made by hand: this layer knows neither policy nor people."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from reviewhub.accounts.models import Agent, AgentKey, Team, Workspace
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import Pause


@dataclass
class World:
    agent: Agent
    run: Run
    branch: Branch
    pause: Pause

    @property
    def key(self) -> AgentKey:
        """A key of the agent in the run's environment."""
        return AgentKey(workspace=self.run.workspace, agent=self.agent, environment=self.run.environment)


@pytest.fixture
def world(db: None) -> World:
    """One agent, one run, one branch that is paused at a pause that settled just now."""
    workspace = Workspace.objects.create(slug="acme", name="Acme")
    team = Team.objects.create(workspace=workspace, name="Support")
    agent = Agent.objects.create(workspace=workspace, team=team, name="bot")
    run = Run.objects.create(workspace=workspace, agent=agent, environment="production")
    branch = Branch.objects.create(workspace=workspace, run=run, name="main", state="paused")
    pause = Pause.objects.create(
        workspace=workspace, run=run, branch=branch, state="settled", open_calls=0, version=1
    )
    return World(agent, run, branch, pause)
