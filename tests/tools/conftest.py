"""An agent of Support."""

from __future__ import annotations

from reviewhub.accounts.models import Agent
from tests.cast import Cast, make_test_agent
from tests.shared import shared


@shared
def agent(cast: Cast) -> Agent:
    """Support's agent."""
    return make_test_agent(cast.support)[0]
