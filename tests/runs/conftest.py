"""An agent of Support with a key, and a run that it started."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import wire

from reviewhub.accounts.models import AgentKey
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.start import start
from tests.cast import Cast, by_key, make_test_agent
from tests.shared import shared


@shared
def key(cast: Cast) -> AgentKey:
    """The production key of Support's agent."""
    return make_test_agent(cast.support)[1]


@shared
def run(key: AgentKey) -> Run:
    """A run that has just begun."""
    return begin(key)


@shared
def branch(run: Run) -> Branch:
    """Its branch main."""
    return run.branches.get()


def begin(key: AgentKey, **body: Any) -> Run:
    """A new run, or the one of that external id."""
    return start(key=key, body=wire.RunStart.from_tree(body), actor=by_key(key))[0]
