"""Agents and people as the API sees them: real requests through Django's test client, exact JSON both ways."""

from __future__ import annotations

import copy
import json
import secrets
import uuid
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from reviewhub.accounts.keys import make_key
from reviewhub.accounts.models import AgentKey, Member, Team
from reviewhub.accounts.queries import key_behind
from reviewhub.policies.known_tools import remember
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.reading import parse_policy
from tests.cast import make_test_agent

API = "/api/v1"


@dataclass
class Reply:
    """A response with its JSON."""

    status: int
    json: Any
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The problem's code."""
        return str(self.json.get("code", ""))

    def ok(self, *statuses: int) -> Any:
        """The JSON, if the status is one of these (any 2xx by default)."""
        expected = statuses or (200, 201)
        assert self.status in expected, (self.status, self.json)
        return self.json


def _reply(response: Any) -> Reply:
    text = response.content.decode()
    parsed = json.loads(text) if text else {}
    return Reply(status=response.status_code, json=parsed, headers=dict(response.headers))


@dataclass
class AgentHttp:
    """An agent with a key."""

    token: str
    client: Client = field(default_factory=Client)

    def __deepcopy__(self, memo: dict[int, Any]) -> AgentHttp:
        return AgentHttp(token=self.token)

    def post(self, path: str, body: Any = None, *, key: str = "", raw: bytes | None = None) -> Reply:
        """POST below the API; `raw` is sent as it is."""
        return self._send("post", path, body, key, raw)

    def put(self, path: str, body: Any = None, *, raw: bytes | None = None) -> Reply:
        """PUT below the API."""
        return self._send("put", path, body, "", raw)

    def get(self, path: str) -> Reply:
        """GET below the API."""
        return _reply(self.client.get(API + path, headers={"Authorization": f"Bearer {self.token}"}))

    def _send(self, method: str, path: str, body: Any, key: str, raw: bytes | None) -> Reply:
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key or secrets.token_hex(8)}
        data = raw if raw is not None else json.dumps({} if body is None else body).encode()
        send = getattr(self.client, method)
        return _reply(send(API + path, data, content_type="application/json", headers=headers))

    def run(self, **fields: Any) -> Any:
        """A new run."""
        return self.post("/runs", fields).ok(201)

    def pause(self, run: str, *calls: dict[str, Any], key: str = "", **fields: Any) -> Reply:
        """A pause with a small state."""
        body = {"checkpoint": {"state": {"n": 1}}, "tool_calls": list(calls), **fields}
        return self.post(f"/runs/{run}/pauses", body, key=key)

    def consume(self, call: Any, *, key: str = "", **fields: Any) -> Reply:
        """Consume a call as it was shown."""
        return self.post(f"/tool-calls/{call['id']}/consume", {"digest": call["digest"], **fields}, key=key)

    def outcome(self, call: Any, status: str = "succeeded", **fields: Any) -> Reply:
        """Report an outcome."""
        return self.post(f"/tool-calls/{call['id']}/outcome", {"status": status, **fields})


@dataclass
class PersonHttp:
    """A signed-in person."""

    member: Member
    client: Client = field(default_factory=Client)

    def __post_init__(self) -> None:
        if not self.client.cookies:
            self.client.force_login(self.member.person)

    def __deepcopy__(self, memo: dict[int, Any]) -> PersonHttp:
        """The same session in a browser of its own."""
        client = Client()
        client.cookies.update(self.client.cookies)
        return PersonHttp(copy.deepcopy(self.member, memo), client)

    def get(self, path: str) -> Reply:
        """GET below the API."""
        return _reply(self.client.get(API + path))

    def post(self, path: str, body: Any = None, *, key: str = "", raw: bytes | None = None) -> Reply:
        """POST below the API."""
        data = raw if raw is not None else json.dumps({} if body is None else body).encode()
        headers = {"Idempotency-Key": key or secrets.token_hex(8)}
        return _reply(self.client.post(API + path, data, content_type="application/json", headers=headers))

    def put(self, path: str, body: Any) -> Reply:
        """PUT below the API."""
        return _reply(self.client.put(API + path, json.dumps(body), content_type="application/json"))

    def decide(self, call: Any, type_: str, *, key: str = "", **fields: Any) -> Reply:
        """Answers the request of a call as it was shown in a pause."""
        body = {"type": type_, "version": call.get("version", 1), "digest": call["digest"], **fields}
        return self.post(f"/requests/{call['request']['id']}/decide", body, key=key)


def agent_of(team: Team, name: str = "Support agent") -> AgentHttp:
    """A new agent of a team, with a key."""
    _, _, token = make_test_agent(team, name=name)
    return AgentHttp(token=token)


def staging(agent: AgentHttp) -> AgentHttp:
    """The same agent by another key, which is for staging."""
    row = key_behind(agent.token)
    assert row is not None
    new = make_key(environment="staging")
    AgentKey.objects.create(
        workspace=row.workspace,
        agent=row.agent,
        name="staging",
        environment="staging",
        prefix=new.prefix,
        key_hash=new.key_hash,
    )
    return AgentHttp(token=new.text)


def call(tool: str = "refund", call_id: str = "call_1", **fields: Any) -> dict[str, Any]:
    """A proposed tool call."""
    return {"call_id": call_id, "tool": tool, "arguments": {"order": "8812", "amount": "10.00"}, **fields}


def observed(agent: AgentHttp, run: str, status: str = "succeeded", **fields: Any) -> str:
    """A call of `run` that ran without asking; its id."""
    outcome = {"status": status, **({"error": "It broke."} if status == "failed" else {})}
    ran = {**call(**fields), "outcome": outcome}
    told = {"tool_calls": [ran], "checkpoint": {"state": {"n": 1}}}
    return str(agent.post(f"/runs/{run}/observations", told).ok(201)["tool_calls"][0]["id"])


def policy(team: Team, *rules: dict[str, Any]) -> PolicyVersion:
    """Publishes rules in the team's workspace, as they are."""
    newest = PolicyVersion.objects.filter(workspace=team.workspace).count()
    text = json.dumps({"rules": list(rules)}, sort_keys=True, separators=(",", ":"))
    made = PolicyVersion.objects.create(
        workspace=team.workspace, number=newest + 1, rules=text, author_name="test"
    )
    remember(made, parse_policy(text))
    return made


def new_id() -> str:
    """An id of nothing."""
    return str(uuid.uuid4())
