"""An agent of Support."""

from __future__ import annotations

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.core.actors import Actor
from tests.cast import Cast, make_test_agent

AGENT = Actor(kind="agent", name="Support agent", source="api")
ALICE = Actor(kind="person", name="Alice", source="page")


@pytest.fixture
def agent(cast: Cast) -> Agent:
    """Support's agent."""
    return make_test_agent(cast.support)[0]
