"""Signed-in browsers of the cast, and requests that wait."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from reviewhub_agents import wire

from reviewhub.accounts.kinds import TeamMade
from reviewhub.accounts.models import Member, SavedView
from reviewhub.audit.record import record
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import SYSTEM
from reviewhub.plans.models import PlanVersion
from tests.cast import Cast, make_test_agent
from tests.shared import shared
from tests.web.make import drawn, standing_approval, suggested_rule, waiting


@pytest.fixture
def as_() -> Callable[[Member], Client]:
    """A browser in which this member is signed in."""

    def sign_in(member: Member) -> Client:
        client = Client()
        client.force_login(member.person)
        return client

    return sign_in


@shared
def ids(cast: Cast) -> dict[str, Any]:
    """One of everything, of team Support."""
    return one_of_each(cast)


def one_of_each(cast: Cast) -> dict[str, Any]:
    """One of everything that an address names: how the address has it → what it is."""
    row = waiting(cast.support)
    _, key, _ = make_test_agent(cast.support, name="Other agent")
    tool = row.agent.tools.get()
    made = draft(branch=row.run.branches.get(), message=wire.CheckpointIn.from_tree({"state": {}}))
    found = save(branch=row.run.branches.get(), draft=made, actor=SYSTEM)
    PlanVersion.objects.create(
        workspace=cast.workspace,
        run=row.run,
        branch=row.run.branches.get(),
        number=1,
        content='{"assumptions":[],"steps":[{"id":"a","title":"Look"}]}',
        why_kind="first",
        author_kind="agent",
    )
    seen, flagged = drawn(row.tool_call), drawn(waiting(cast.support).tool_call, state="flagged")
    event = record(
        "team.made", workspace_id=cast.workspace.pk, actor=SYSTEM, data=TeamMade(name=cast.support.name)
    )
    return {
        "<int:version>": 1,
        "<slug:name>": "edits",
        "<int:event>": event.id,
        "<uuid:export_id>": uuid.uuid4(),
        "<int:number>": row.number,
        "<uuid:run_id>": row.run_id,
        "<uuid:call_id>": seen.tool_call_id,
        "<uuid:follow_up_id>": suggested_rule(flagged, cast.carol).pk,
        "<uuid:branch_id>": row.branch_id,
        "<uuid:checkpoint_id>": found.pk,
        "<uuid:member_id>": cast.dave.pk,
        "<uuid:team_id>": cast.support.pk,
        "<uuid:agent_id>": row.agent_id,
        "<uuid:key_id>": key.pk,
        "<uuid:view_id>": SavedView.objects.create(
            workspace=cast.workspace, member=cast.bob, page="queue", name="Late", query="late=1"
        ).pk,
        "<uuid:tool_id>": tool.pk,
        "<uuid:standing_id>": standing_approval(waiting(cast.support), cast.bob).pk,
    }
