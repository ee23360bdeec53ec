"""`@requires_review`, for `def` and `async def`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Literal, ParamSpec, TypeVar, cast

from reviewhub_agents.client import AsyncClient, Client
from reviewhub_agents.errors import Answered, Denied, ReviewHubError
from reviewhub_agents.wire import AllowedDecision, Check, Effect, Evidence

from .arguments import Signature
from .conversation import Gate, Given, Granted

P = ParamSpec("P")
R = TypeVar("R")

_granted: ContextVar[Granted | None] = ContextVar("reviewhub_granted", default=None)


def granted() -> Granted:
    """The granted call that is running now; raises LookupError outside of one.

    Its `tool_idempotency_key` is the same for every attempt of the call: hand it to a service that takes one.
    """
    found = _granted.get()
    if found is None:
        raise LookupError("No gated call is running here.")
    return found


def requires_review(
    *,
    client: Client | AsyncClient,
    tool: str,
    effect: Effect | Literal["read", "idempotent", "once"] = Effect.ONCE,
    reason: str | Given = "",
    facts: Given | None = None,
    evidence: Sequence[Evidence] = (),
    checks: Given | Sequence[Check] = (),
    allowed_decisions: Sequence[AllowedDecision] | None = None,
    deadline: timedelta | None = None,
    timeout: float | None = None,
    on_denied: Literal["raise", "return"] = "raise",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function run only as approved.

    `tool` is its name at ReviewHub and `effect` what running it twice would do. `reason`, `facts` and `checks` may be
    functions of the arguments (a mapping by name); `facts` is asked again right before the call runs, and people are
    asked again when it changed. `deadline` is for the reviewers. After `timeout` seconds (None: never) the call is
    asked back and `StillWaiting` raised.

    `on_denied="return"` returns instead of raising `Denied`: the text for the model, or the reviewer's answer when
    there is one. The caller must then expect such a value in place of the function's own.

    Raises TypeError when the client does not fit the function, or an argument has no name.
    """
    gate = Gate(
        tool=tool,
        effect=Effect(effect),
        reason=reason,
        facts=facts,
        evidence=evidence,
        checks=checks,
        allowed_decisions=allowed_decisions,
        deadline=deadline,
        timeout=timeout,
    )

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = Signature(function)
        if inspect.iscoroutinefunction(function):
            if not isinstance(client, AsyncClient):
                raise TypeError("An async function needs an AsyncClient.")
            return cast(Callable[P, R], _awaiting(function, gate, client, signature, on_denied))
        if not isinstance(client, Client):
            raise TypeError("A plain function needs a Client.")
        return _blocking(function, gate, client, signature, on_denied)

    return decorate


def _blocking(
    function: Callable[P, R], gate: Gate, client: Client, signature: Signature, on_denied: str
) -> Callable[P, R]:
    @functools.wraps(function)
    def gated(*args: P.args, **kwargs: P.kwargs) -> R:
        patience = client.patience
        try:
            work = client.carry_out(gate.ask(signature.named(args, kwargs), patience=patience))
        except Denied as denied:
            if on_denied == "raise":
                raise
            return cast(R, _instead(denied))
        token = _granted.set(work)
        try:
            result = function(**work.arguments)  # type: ignore[call-arg]
        except BaseException as error:
            try:
                client.carry_out(gate.failed(work, error, patience=patience))
            except ReviewHubError as unsaid:
                error.add_note(f"ReviewHub could not be told: {unsaid}")
            raise
        finally:
            _granted.reset(token)
        client.carry_out(gate.succeeded(work, result, patience=patience))
        return result

    return gated


def _awaiting(
    function: Callable[..., Coroutine[Any, Any, Any]],
    gate: Gate,
    client: AsyncClient,
    signature: Signature,
    on_denied: str,
) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(function)
    async def gated(*args: Any, **kwargs: Any) -> Any:
        patience = client.patience
        try:
            work = await client.carry_out(gate.ask(signature.named(args, kwargs), patience=patience))
        except Denied as denied:
            if on_denied == "raise":
                raise
            return _instead(denied)
        token = _granted.set(work)
        try:
            result = await function(**work.arguments)
        except BaseException as error:
            try:
                await client.carry_out(gate.failed(work, error, patience=patience))
            except ReviewHubError as unsaid:
                error.add_note(f"ReviewHub could not be told: {unsaid}")
            raise
        finally:
            _granted.reset(token)
        await client.carry_out(gate.succeeded(work, result, patience=patience))
        return result

    return gated


def _instead(denied: Denied) -> Any:
    return denied.value if isinstance(denied, Answered) else denied.model_text
