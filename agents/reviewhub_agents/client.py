"""The clients: `Client` blocks, `AsyncClient` awaits; both have the same methods (`routes.py` describes
them).

    client = Client("https://reviewhub.example", key=os.environ["REVIEWHUB_KEY"])
    run = client.start_run(RunStart(title="Refunds"))
    pause = client.pause(run.id, PauseBody(tool_calls=[ToolCallIn(tool="payments.refund", arguments={…})]))
    pause = client.wait(pause.id)

A request that gets no answer, or 429, 502, 503 or 504, is sent again with the same idempotency key for
`patience` seconds. Redirects are not followed: they would carry the key elsewhere. Errors are in `errors.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload
from uuid import UUID

import httpx

from reviewhub_agents import routes
from reviewhub_agents.exchange import Lost, Reply, Send, Sleep, Steps, exchange, settled
from reviewhub_agents.routes import Call
from reviewhub_agents.wire import PauseOut, Wire

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Wire)

API = "/api/v1"
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0


class Route(Generic[P, T]):
    """Makes a route description a method of both clients: `client.pause(run, body)`."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Route[P, T]: ...
    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Any:
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.carry_out(exchange(self.describe(*args, **kwargs), patience=client.patience))

        call.__name__, call.__doc__ = self.describe.__name__, self.__doc__
        return call


class _Routes:
    """What both clients share: the routes, and how a request is built for httpx."""

    start_run = Route(routes.start_run)
    get_run = Route(routes.get_run)
    cancel_run = Route(routes.cancel_run)
    pause = Route(routes.pause)
    get_pause = Route(routes.get_pause)
    consume = Route(routes.consume)
    progress = Route(routes.progress)
    outcome = Route(routes.outcome)
    withdraw = Route(routes.withdraw)
    observe = Route(routes.observe)
    save_checkpoint = Route(routes.save_checkpoint)
    list_checkpoints = Route(routes.list_checkpoints)
    get_checkpoint = Route(routes.get_checkpoint)
    difference = Route(routes.difference)
    blame = Route(routes.blame)
    find = Route(routes.find)
    budget = Route(routes.budget)
    goodput = Route(routes.goodput)
    fork = Route(routes.fork)
    preview_fork = Route(routes.preview_fork)
    write_plan = Route(routes.write_plan)
    list_plans = Route(routes.list_plans)
    get_plan = Route(routes.get_plan)
    mark_steps = Route(routes.mark_steps)
    list_marks = Route(routes.list_marks)
    plan_difference = Route(routes.plan_difference)
    claim_branch = Route(routes.claim_branch)
    heartbeat = Route(routes.heartbeat)
    enter = Route(routes.enter)
    signals = Route(routes.signals)
    give_verdict = Route(routes.give_verdict)
    finish = Route(routes.finish)
    fail = Route(routes.fail)
    handover = Route(routes.handover)
    record = Route(routes.record)
    get_record = Route(routes.get_record)
    list_records = Route(routes.list_records)
    list_tool_calls = Route(routes.list_tool_calls)
    sleep = Route(routes.sleep)
    start_child = Route(routes.start_child)
    wait_for = Route(routes.wait_for)
    register_tool = Route(routes.register_tool)
    register_state = Route(routes.register_state)
    get_state_schema = Route(routes.get_state_schema)
    explain = Route(routes.explain)
    resumptions = Route(routes.resumptions)
    questions = Route(routes.questions)
    answer = Route(routes.answer)

    def __init__(self, url: str, *, key: str, patience: float = 60.0, connections: int = 100) -> None:
        """`url` of the server, without path; `key` of one agent; `patience` in seconds without an answer."""
        base = httpx.URL(url)
        if base.scheme not in ("http", "https") or not base.host:
            raise ValueError(f"{url!r} is no address that starts with http:// or https://.")
        self.patience = patience
        self._options: dict[str, Any] = {
            "base_url": base.copy_with(path=base.path.rstrip("/") + API),
            "headers": {"Authorization": f"Bearer {key}"},
            "timeout": httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
            "limits": httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            "follow_redirects": False,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._options['base_url'])!r})"


def _arguments(send: Send) -> dict[str, Any]:
    """How httpx is to send it. A long poll may take as long as it asked for, and then the usual time."""
    return {
        "method": send.method,
        "url": send.path,
        "params": dict(send.query),
        "headers": dict(send.headers),
        "content": send.content,
        "timeout": httpx.Timeout(READ_TIMEOUT + send.wait, connect=CONNECT_TIMEOUT),
    }


def _reply(response: httpx.Response) -> Reply:
    return Reply(response.status_code, response.headers, response.content)


class Client(_Routes):
    """The blocking client. Safe to share between threads; close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        patience: float = 60.0,
        connections: int = 100,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`url` of the server; `key` of one agent; `patience` in seconds; `transport` of httpx for tests."""
        super().__init__(url, key=key, patience=patience, connections=connections)
        self._http = httpx.Client(transport=transport, **self._options)

    def carry_out(self, steps: Steps[R]) -> R:
        """Carry out the steps of a conversation and return its result."""
        reply, lost = None, None
        while True:
            try:
                step = steps.send(reply) if lost is None else steps.throw(lost)
            except StopIteration as stop:
                result: R = stop.value
                return result
            reply, lost = None, None
            if isinstance(step, Sleep):
                time.sleep(step.seconds)
                continue
            try:
                reply = _reply(self._http.request(**_arguments(step)))
            except httpx.TransportError as error:
                lost = _lost(error)

    def wait(self, pause: UUID, *, timeout: float | None = None) -> PauseOut:
        """Wait until no call of `pause` waits. Raises `StillWaiting` after `timeout` seconds (None: never)."""
        return self.carry_out(settled(pause, timeout=timeout, patience=self.patience))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Routes):
    """The awaiting client. Close it with `aclose`, or use it as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        patience: float = 60.0,
        connections: int = 100,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`url` of the server; `key` of one agent; `patience` in seconds; `transport` of httpx for tests."""
        super().__init__(url, key=key, patience=patience, connections=connections)
        self._http = httpx.AsyncClient(transport=transport, **self._options)

    async def carry_out(self, steps: Steps[R]) -> R:
        """Carry out the steps of a conversation and return its result."""
        reply, lost = None, None
        while True:
            try:
                step = steps.send(reply) if lost is None else steps.throw(lost)
            except StopIteration as stop:
                result: R = stop.value
                return result
            reply, lost = None, None
            if isinstance(step, Sleep):
                await asyncio.sleep(step.seconds)
                continue
            try:
                reply = _reply(await self._http.request(**_arguments(step)))
            except httpx.TransportError as error:
                lost = _lost(error)

    async def wait(self, pause: UUID, *, timeout: float | None = None) -> PauseOut:
        """Wait until no call of `pause` waits. Raises `StillWaiting` after `timeout` seconds (None: never)."""
        return await self.carry_out(settled(pause, timeout=timeout, patience=self.patience))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _lost(error: httpx.TransportError) -> Lost:
    lost = Lost(f"{type(error).__name__}: {error}")
    lost.__cause__ = error
    return lost
