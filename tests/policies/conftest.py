"""An agent of Support, and a way to publish."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast, make_test_agent
from tests.shared import shared

Publish = Callable[..., PolicyVersion]


@shared
def agent(cast: Cast) -> Agent:
    """Support's agent, with three tools."""
    made = make_test_agent(cast.support)[0]
    for name in ("orders.get", "orders.delete", "refund"):
        Tool.objects.create(
            workspace=made.workspace,
            agent=made,
            name=name,
            registered_at=now(),
            schema_fingerprint="sha256:0",
        )
    return made


@pytest.fixture
def put_in_force(cast: Cast) -> Publish:
    """Publishes the given rules in Northwind, on top of what is there."""

    def put(*rules: dict[str, Any]) -> PolicyVersion:
        base = current_number(cast.workspace.id)
        text = json.dumps({"rules": rules})
        return publish(workspace=cast.workspace, rules_text=text, note="why", base=base, actor=ALICE)

    return put
