"""Three stores for one set of tests: in memory, the database in a worker, HTTP outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import httpx
from django.test import Client as DjangoClient
from reviewhub_agents import canonical, wire
from reviewhub_agents.client import Client
from reviewhub_agents.runners.http import HttpStore
from reviewhub_agents.runtime.memory import MemoryStore
from reviewhub_agents.runtime.store import Proposal, Store

from reviewhub.core.actors import SYSTEM
from reviewhub.gates.finish import finish
from reviewhub.hosting.store import BranchStore
from reviewhub.resumptions.claim import claim
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Child
from tests.cast import Cast, make_test_agent
from tests.driver import policy
from tests.hosting.conftest import Hosted, allow, run_out

INPUT = {"amount": "10.00"}


class Keeper(Protocol):
    """One branch, a store that holds it, and a person who decides."""

    store: Store

    def decide(self, type_: str, **said: Any) -> None:
        """Answers the one call that waits."""

    def gate(self, *names: str) -> None:
        """From now on these acts need somebody's yes."""

    def over(self) -> Store:
        """A store of another process, that took the branch over."""

    def ended(self) -> str:
        """How the branch ended."""

    def end_child(self, key: str, result: Any) -> None:
        """The child run that was started under this key ends with a result."""


class InMemory:
    """People are played by the store itself; there is one process only."""

    def __init__(self) -> None:
        self.kept = MemoryStore(input=json.dumps(INPUT), policy=_policy)
        self.store: Store = self.kept

    def decide(self, type_: str, **said: Any) -> None:
        if "changes" in said:
            said = {"arguments": {"text": said["changes"][0]["value"]}}
        self.kept.decide(type_, **said)

    def gate(self, *names: str) -> None:
        self.kept.gated = frozenset(names)

    def over(self) -> Store:
        if self.kept.state == "sleeping":
            self.kept.wake()
        return self.store

    def ended(self) -> str:
        return self.kept.state

    def end_child(self, key: str, result: Any) -> None:
        self.kept.children[key].finish(result=canonical.dumps(result))


class InDatabase:
    """A hosted run that a worker claimed."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        hosted.start(**INPUT)
        self.store: Store = self._claimed()

    def decide(self, type_: str, **said: Any) -> None:
        self.hosted.decide(type_, **said)

    def gate(self, *names: str) -> None:
        _gate(self.hosted, names)

    def over(self) -> Store:
        run_out()
        return self._claimed()

    def ended(self) -> str:
        return Branch.objects.get().state

    def end_child(self, key: str, result: Any) -> None:
        branch = Child.objects.get(key=key).branch
        finish(branch_id=branch.pk, body=wire.FinishBody(epoch=branch.epoch, result=result), actor=SYSTEM)

    def _claimed(self) -> Store:
        row = Resumption.objects.open().get(branch__run__parent=None)
        held = claim(resumption_id=row.pk, owner="worker", seconds=60)
        assert held is not None
        return BranchStore(held)


class OverHttp:
    """The same agent as its author's own process, through the API's views."""

    def __init__(self, cast: Cast, hosted: Hosted) -> None:
        agent, _, token = make_test_agent(cast.support, name="Outside")
        self.hosted = hosted
        self.client = Client("http://testserver", key=token, patience=0, transport=django_transport())
        for tool in ("read", "mail", "pay"):
            effect = {"read": "read", "mail": "idempotent", "pay": "once"}[tool]
            self.client.register_tool(tool, wire.ToolRegister.from_tree({"effect": effect}))
        # A policy lets run what was known when it was published.
        policy(cast.support, allow("read"), allow("mail"))
        self.run = self.client.start_run(wire.RunStart(input=INPUT)).id
        self.store: Store = HttpStore(self.client, self.run, owner="first")

    def decide(self, type_: str, **said: Any) -> None:
        self.hosted.decide(type_, **said)

    def gate(self, *names: str) -> None:
        _gate(self.hosted, names)

    def over(self) -> Store:
        run_out()
        return HttpStore(self.client, self.run, owner="second")

    def ended(self) -> str:
        return self.client.get_run(self.run).branches[0].state.value

    def end_child(self, key: str, result: Any) -> None:
        (child,) = [one for one in self.client.get_run(self.run).children if one.key == key]
        self.client.finish(child.branch, wire.FinishBody(result=result))


def _gate(hosted: Hosted, names: Sequence[str]) -> None:
    rules = [{"name": name, "tool": name, "action": "require"} for name in names]
    policy(hosted.agent.team, allow("read"), allow("mail"), *rules)


def django_transport() -> httpx.MockTransport:
    """Hands httpx's requests to Django's views, in the test's own transaction."""
    django = DjangoClient()

    def handle(request: httpx.Request) -> httpx.Response:
        reply = django.generic(
            request.method,
            request.url.raw_path.decode(),
            request.content,
            content_type=request.headers.get("content-type", "application/json"),
            headers={
                name: value
                for name, value in request.headers.items()
                if name in {"authorization", "idempotency-key"}
            },
        )
        return httpx.Response(reply.status_code, headers=dict(reply.headers), content=reply.content)

    return httpx.MockTransport(handle)


def _policy(proposal: Proposal) -> str:
    return "waiting" if proposal.tool == "pay" or proposal.tool.startswith("rh.") else "allowed"
