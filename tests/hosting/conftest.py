"""A hosted agent with a policy: reads and mails pass, everything else waits for people."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import override_settings
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent, Member
from reviewhub.core.actors import SYSTEM, Actor
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.resume import resume
from reviewhub.hosting.start import start
from reviewhub.resumptions.models import Resumption
from reviewhub.resumptions.queries import claimable
from reviewhub.reviews.decide import decide
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch, Run
from tests.cast import Cast
from tests.driver import policy
from tests.hosting.graphs import World, new_world
from tests.shared import shared


def allow(tool: str) -> dict[str, Any]:
    return {"name": f"{tool} passes", "tool": tool, "action": "allow"}


@dataclass
class Hosted:
    """A hosted agent, and a person who decides."""

    agent: Agent
    person: Member
    world: World

    def start(self, **given: Any) -> Run:
        """A new run; no worker has it yet."""
        return start(agent=self.agent, given=given, actor=SYSTEM, title="test")

    def work(self, owner: str = "worker") -> int:
        """Does what a worker does with everything that is due; how many wakings that were."""
        return sum(resume(resumption_id=pk, owner=owner) for pk in claimable().values_list("pk", flat=True))

    def request(self) -> ReviewRequest:
        """The one request that waits."""
        return ReviewRequest.objects.get(state="pending")

    def decide_first(self, type_: str) -> None:
        """The person answers the oldest request that waits."""
        row = ReviewRequest.objects.filter(state="pending").order_by("number")[0]
        self.decide(type_, row=row)

    def decide(
        self,
        type_: str,
        *,
        value: Any = ...,
        changes: Any = None,
        message: str = "",
        row: ReviewRequest | None = None,
    ) -> None:
        """The person answers the one request that waits."""
        row = row or self.request()
        tree: dict[str, Any] = {"type": type_, "version": row.version, "digest": row.digest}
        if message:
            tree["message"] = message
        if value is not ...:
            tree["value"] = value
        if changes is not None:
            tree["changes"] = changes
        body = wire.DecideBody.from_text(canonical.dumps(tree))
        decide(
            request_id=row.pk,
            member=self.person,
            body=body,
            body_digest=canonical.body_digest(tree),
            key=secrets.token_hex(8),
            actor=Actor(kind="person", id=self.person.pk, name=self.person.person.name, source="page"),
        )


def run_out() -> None:
    """Every lease ran out a second ago, and everything is due."""
    for model in (Resumption, Branch):
        model.objects.filter(lease_until__isnull=False).update(
            lease_until=F("lease_until") - timedelta(hours=1)
        )
    Resumption.objects.update(due_at=F("due_at") - timedelta(hours=1))


GRAPHS = {"payer": "tests.hosting.graphs:payer"}


@shared
def payer(cast: Cast) -> Agent:
    """A hosted agent of team Support whose reads and mails pass."""
    with override_settings(HOSTED_GRAPHS=GRAPHS):
        agent = adopt(team=cast.support, graph="payer", name="Payer", owner=None, actor=SYSTEM)
    policy(cast.support, allow("read"), allow("mail"))
    return agent


@pytest.fixture
def hosted(cast: Cast, payer: Agent, settings: Any) -> Hosted:
    settings.HOSTED_GRAPHS = GRAPHS
    return Hosted(agent=payer, person=cast.bob, world=new_world())
