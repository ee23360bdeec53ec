"""An agent of Support, and a way to publish."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from tests.cast import ALICE, Cast, make_test_agent
from tests.shared import shared

Publish = Callable[..., PolicyVersion]


@shared
def agent(cast: Cast) -> Agent:
    """Support's agent."""
    return make_test_agent(cast.support)[0]


@pytest.fixture
def put_in_force(cast: Cast) -> Publish:
    """Publishes the given rules in Northwind, on top of what is there."""

    def put(*rules: dict[str, Any]) -> PolicyVersion:
        base = current_number(cast.workspace.id)
        text = json.dumps({"rules": rules})
        return publish(workspace=cast.workspace, rules_text=text, note="why", base=base, actor=ALICE)

    return put
