"""A ReviewHub in memory, behind httpx's mock transport: enough of the contract to try agents against.

`decide` answers each call that policy would hold, when it is asked for (None: still waiting). `faults` make single
requests fail: before the server saw them, after, or with a status.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
from reviewhub_agents import wire
from reviewhub_agents.canonical import BadJson, body_digest, digest, dumps, parse

KEY = "rh_test_key"
NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@dataclass
class Refused(Exception):
    status: int
    code: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Stored:
    """One tool call of the fake."""

    id: UUID
    run: UUID
    pause: UUID
    tool: str
    arguments: dict[str, Any]
    effect: str
    call_id: str = ""
    state: str = "waiting"
    attempts: list[str] = field(default_factory=list)
    edited: dict[str, Any] | None = None
    decision: dict[str, Any] | None = None
    model_text: str = ""
    result: Any = None
    outcome: str | None = None
    grant: UUID | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return dumps(self.arguments if self.edited is None else self.edited)

    @property
    def digest(self) -> str:
        return digest(tool=self.tool, arguments_text=self.text)


Decide = Callable[[Stored], "str | dict[str, Any] | None"]


class FakeHub:
    """The server; `transport()` and `async_transport()` are what a client talks to."""

    def __init__(self, decide: Decide = lambda call: "approve") -> None:
        self.decide = decide
        self.lock = threading.RLock()
        self.runs: dict[UUID, dict[str, Any]] = {}
        self.pauses: dict[UUID, list[Stored]] = {}
        self.calls: dict[UUID, Stored] = {}
        self.answers: dict[tuple[str, str], tuple[str, str]] = {}
        self.observed: list[dict[str, Any]] = []
        self.tools: dict[str, Any] = {}
        self.requests: list[httpx.Request] = []
        self.faults: list[Callable[[httpx.Request], str | httpx.Response | None]] = []
        self.overrides: dict[str, list[Refused]] = {}

    # ---- the wire ---------------------------------------------------------------------------------

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        with self.lock:
            self.requests.append(request)
            found = [fault(request) for fault in list(self.faults)]
            for fault in found:
                if fault == "lost before":
                    raise httpx.ConnectError("refused", request=request)
                if isinstance(fault, httpx.Response):
                    return fault
            response = self._respond(request)
            if "lost after" in found:
                raise httpx.ReadError("reset", request=request)
            return response

    def _respond(self, request: httpx.Request) -> httpx.Response:
        try:
            if request.headers.get("authorization") != f"Bearer {KEY}":
                raise Refused(401, "unauthenticated")
            status, text = self._once(request)
        except Refused as no:
            problem = {
                "status": no.status,
                "code": no.code,
                "title": no.code,
                "detail": f"No: {no.code}.",
                **no.extra,
            }
            return httpx.Response(
                no.status, text=dumps(problem), headers={"content-type": "application/problem+json"}
            )
        except BadJson as bad:
            problem = {"status": 422, "code": bad.code, "errors": [dict(fault) for fault in bad.errors]}
            return httpx.Response(
                422, text=dumps(problem), headers={"content-type": "application/problem+json"}
            )
        return httpx.Response(status, text=text, headers={"content-type": "application/json; charset=utf-8"})

    def _once(self, request: httpx.Request) -> tuple[int, str]:
        """The same key and body on the same route answer as they did before."""
        key, path = request.headers.get("idempotency-key"), request.url.path.removeprefix("/api/v1")
        body = parse(request.content) if request.content else {}
        if key is None:
            return 200, self._route(request, path, body)
        if (before := self.answers.get((path, key))) is not None:
            if before[0] != body_digest(body):
                raise Refused(409, "idempotency_conflict")
            return 200, before[1]
        text = self._route(request, path, body)
        self.answers[path, key] = (body_digest(body), text)
        return 201, text

    def _route(self, request: httpx.Request, path: str, body: Any) -> str:
        parts = path.strip("/").split("/")
        name = "_".join([request.method.lower(), parts[0].replace("-", "_"), *parts[2:]])
        handler = getattr(self, name, None)
        if handler is None:
            raise Refused(404, "not_found", {"detail": name})
        if self.overrides.get(name):
            raise self.overrides[name].pop(0)
        self.query = dict(request.url.params)
        argument = parts[1] if len(parts) > 1 else ""
        message: wire.Wire = handler(argument, body)
        return message.to_text()

    # ---- runs -------------------------------------------------------------------------------------

    def post_runs(self, _: str, body: Any) -> wire.RunOut:
        start = wire.RunStart.from_tree(body)
        for run in self.runs.values():
            if start.external_id and run["external_id"] == start.external_id:
                return self._run(run)
        run = {
            "id": uuid4(),
            "external_id": start.external_id,
            "state": "running",
            "branch": uuid4(),
            "result": None,
        }
        self.runs[run["id"]] = run
        return self._run(run)

    def get_runs(self, run: str, _: Any) -> wire.RunOut:
        return self._run(self.runs[UUID(run)])

    def _run(self, run: dict[str, Any]) -> wire.RunOut:
        branch = wire.BranchOut(id=run["branch"], name="main", state=run["state"])
        return wire.RunOut(
            id=run["id"],
            agent="tester",
            environment="test",
            state=run["state"],
            external_id=run["external_id"],
            branches=[branch],
            result=run["result"],
            created_at=NOW,
        )

    def post_branches_finish(self, branch: str, body: Any) -> wire.BranchOut:
        finish = wire.FinishBody.from_tree(body)
        return self._end(branch, "succeeded", finish.result)

    def post_branches_fail(self, branch: str, body: Any) -> wire.BranchOut:
        return self._end(branch, "failed", wire.FailBody.from_tree(body).error)

    def _end(self, branch: str, state: str, result: Any) -> wire.BranchOut:
        (run,) = [run for run in self.runs.values() if run["branch"] == UUID(branch)]
        if run["state"] != "running":
            raise Refused(409, "conflict")
        open_states = {"waiting", "started", "unknown"}
        if any(call.run == run["id"] and call.state in open_states for call in self.calls.values()):
            raise Refused(409, "unsettled")
        run["state"], run["result"] = state, result
        return wire.BranchOut(id=run["branch"], name="main", state=state)

    # ---- pauses -----------------------------------------------------------------------------------

    def post_runs_pauses(self, run: str, body: Any) -> wire.PauseOut:
        pause, known = wire.PauseBody.from_tree(body), self.runs[UUID(run)]
        if known["state"] != "running":
            raise Refused(409, "conflict")
        pause_id = uuid4()
        self.pauses[pause_id] = []
        for item in pause.tool_calls:
            call = Stored(
                id=uuid4(),
                run=known["id"],
                pause=pause_id,
                tool=item.tool,
                arguments=item.arguments_tree,
                effect=item.effect or self.tools.get(item.tool, {}).get("effect", "once"),
                call_id=item.call_id,
                facts=item.facts,
            )
            self.calls[call.id] = call
            self.pauses[pause_id].append(call)
        return self._pause(pause_id)

    def get_pauses(self, pause: str, _: Any) -> wire.PauseOut:
        for call in self.pauses[UUID(pause)]:
            if call.state in ("waiting", "unknown"):
                self._decide(call, self.decide(call))
        return self._pause(UUID(pause))

    def _decide(self, call: Stored, answer: str | dict[str, Any] | None) -> None:
        if answer is None:
            return
        decision = {"type": answer} if isinstance(answer, str) else answer
        states = {
            "approve": "allowed",
            "edit": "allowed",
            "did_not_happen": "allowed",
            "reject": "denied",
            "deny": "denied",
            "expire": "denied",
            "respond": "skipped",
            "withdraw": "skipped",
            "cancel": "skipped",
            "skip": "skipped",
            "happened": "succeeded",
        }
        call.state = states[decision["type"]]
        call.decision = decision
        call.edited = decision.get("arguments")
        call.model_text = f"A reviewer decided: {decision['type']}."
        call.grant = uuid4() if call.state == "allowed" else None

    def _pause(self, pause: UUID) -> wire.PauseOut:
        calls = self.pauses[pause]
        waits = any(call.state in ("waiting", "unknown") for call in calls)
        return wire.PauseOut(
            id=pause,
            run=calls[0].run,
            state="waiting" if waits else "settled",
            version=1,
            tool_calls=[self._call(call) for call in calls],
            checkpoint=wire.CheckpointRef(id=pause, hash="sha256:" + "1" * 64),
        )

    def _call(self, call: Stored) -> wire.ToolCallOut:
        fields: dict[str, Any] = {}
        if call.decision is not None:
            given = {key: value for key, value in call.decision.items() if key in ("value", "message")}
            fields["decision"] = wire.DecisionOut(
                type=call.decision["type"],
                by=wire.By(kind="person", name="Mina"),
                decided_at=NOW,
                edited=call.edited is not None,
                arguments=parse(call.text),
                **given,
            )
        if call.state == "waiting":
            where = "http://hub.test/requests/1"
            fields["request"] = wire.RequestOut(id=call.id, number=1, url=where)
        if call.grant is not None:
            fields["grant"] = wire.GrantOut(id=call.grant, digest=call.digest)
        return wire.ToolCallOut(
            id=call.id,
            tool=call.tool,
            call_id=call.call_id,
            state=call.state,
            digest=call.digest,
            effect=call.effect,
            attempt=len(call.attempts),
            model_text=call.model_text,
            result=call.result,
            **fields,
        )

    # ---- tool calls -------------------------------------------------------------------------------

    def post_tool_calls_consume(self, call_id: str, body: Any) -> wire.ConsumeOut:
        consume, call = wire.ConsumeBody.from_tree(body), self.calls[UUID(call_id)]
        if call.state in ("started", "succeeded", "failed", "unknown"):
            raise Refused(409, "already_consumed")
        if call.state != "allowed":
            raise Refused(409, "not_allowed")
        if consume.digest != call.digest:
            raise Refused(409, "digest_mismatch")
        if dumps(consume.facts) != dumps(call.facts):
            call.state, call.grant, call.decision = "waiting", None, None
            raise Refused(409, "facts_changed")
        call.state, call.grant = "started", None
        call.attempts.append(uuid4().hex)
        return wire.ConsumeOut(
            arguments=parse(call.text),
            arguments_text=call.text,
            tool_idempotency_key=f"rh-{call.id}",
            attempt=len(call.attempts),
        )

    def post_tool_calls_outcome(self, call_id: str, body: Any) -> wire.OutcomeOut:
        outcome, call = wire.OutcomeBody.from_tree(body), self.calls[UUID(call_id)]
        if call.state not in ("started", "unknown"):
            if call.outcome == body_digest(body):
                return wire.OutcomeOut(id=call.id, state=call.state)
            raise Refused(409, "outcome_conflict" if call.outcome else "not_consumed")
        call.state, call.result, call.outcome = outcome.status, outcome.result, body_digest(body)
        return wire.OutcomeOut(id=call.id, state=call.state)

    def post_runs_observations(self, run: str, body: Any) -> wire.ObservationOut:
        observation = wire.ObservationBody.from_tree(body)
        self.observed.extend(
            {"run": UUID(run), "tool": item.tool, "call": item} for item in observation.tool_calls
        )
        calls = [
            wire.ToolCallOut(
                id=uuid4(),
                tool=item.tool,
                state=item.outcome.status,
                digest=digest(tool=item.tool, arguments_text=item.canonical_arguments),
            )
            for item in observation.tool_calls
        ]
        return wire.ObservationOut(run=UUID(run), tool_calls=calls)

    def put_tools(self, name: str, body: Any) -> wire.ToolOut:
        tool = wire.ToolRegister.from_tree(body)
        self.tools[name] = {"effect": tool.effect.value}
        return wire.ToolOut(name=name, effect=tool.effect, risk="high")

    # ---- what tests look at -----------------------------------------------------------------------

    def sent(self, method: str, ending: str) -> list[httpx.Request]:
        """The requests of one route, by method and the end of the path."""
        return [item for item in self.requests if item.method == method and item.url.path.endswith(ending)]

    def die_once(self, method: str, ending: str, how: str | httpx.Response, times: int = 1) -> None:
        """Let the next `times` requests of one route fail: "lost before", "lost after", or with a response."""
        left = [times]

        def fault(request: httpx.Request) -> str | httpx.Response | None:
            if left[0] and request.method == method and request.url.path.endswith(ending):
                left[0] -= 1
                return how
            return None

        self.faults.append(fault)
