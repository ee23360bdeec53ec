"""The conversation with the server without any input or output: what to send when, and what the answers mean.

A conversation is a generator that yields `Send` and `Sleep` steps and gets a `Reply` for each `Send` (or
`Lost` thrown in). The clients only carry the steps out, one by blocking, one by awaiting, so there is one
logic and not two.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar
from uuid import UUID

from reviewhub_agents import __version__, routes
from reviewhub_agents.canonical import BadJson, Tree, parse
from reviewhub_agents.errors import StillWaiting, UnexpectedAnswer, Unreachable, error_for
from reviewhub_agents.routes import Call
from reviewhub_agents.wire import CallState, PauseOut, PauseState, Problem, Wire

T = TypeVar("T", bound=Wire)

logger = logging.getLogger(__name__)

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which the same request is sent again. 502 and 504 come from proxies; the key makes it safe."""
FIRST_DELAY = 0.2
LONGEST_DELAY = 10.0
LONG_POLL = 30.0
LONGEST_ANSWER = 100_000_000
"""Bytes: a whole state (64 MB) in a checkpoint, with room."""


@dataclass(frozen=True)
class Send:
    """Send this request; answered by a `Reply`, or by `Lost` when the connection failed."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes
    wait: float


@dataclass(frozen=True)
class Sleep:
    """Wait this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Lost(Exception):
    """No answer: the connection failed or timed out. The request may or may not have arrived."""


R = TypeVar("R")
Steps = Generator[Send | Sleep, Reply | None, R]


def exchange(call: Call[T], *, patience: float) -> Steps[T]:
    """Send `call` and read its answer, again and again for `patience` seconds while the server cannot be had.

    Every repeat carries the same idempotency key. Raises `ApiError` for what the server refuses,
    `Unreachable` when patience ends, `UnexpectedAnswer` for what is no answer of ReviewHub's.
    """
    send, delay = _request(call), FIRST_DELAY
    until = time.monotonic() + patience
    while True:
        try:
            reply = yield send
        except Lost as lost:
            if time.monotonic() + delay > until:
                raise Unreachable(f"ReviewHub did not answer for {patience:g} seconds: {lost}") from lost
            pause = delay
        else:
            assert reply is not None
            if reply.status not in AGAIN or time.monotonic() + delay > until:
                return _answer(call, reply)
            # What the server asks for is honoured, but not beyond what the caller is ready to wait.
            pause = min(max(delay, _retry_after(reply)), max(until - time.monotonic(), 0))
        # Spread out, so that a hundred agents do not come back at the same instant.
        yield Sleep(pause * random.uniform(0.75, 1))  # noqa: S311  # no secret
        delay = min(delay * 2, LONGEST_DELAY)


def announce(pause: PauseOut) -> None:
    """Log, at INFO, where people find what waits in `pause`; nothing when nothing waits."""
    for call in pause.tool_calls:
        if call.state is CallState.WAITING and call.request is not None:
            logger.info("%s waits for people: %s", call.tool, call.request.url)


def settled(pause: UUID, *, timeout: float | None, patience: float) -> Steps[PauseOut]:
    """Wait until no call of `pause` waits, by long polls. Raises `StillWaiting` after `timeout` seconds."""
    until = None if timeout is None else time.monotonic() + timeout
    delay = FIRST_DELAY
    while True:
        asked = time.monotonic()
        left = None if until is None else max(0.0, until - asked)
        wait = LONG_POLL if left is None else min(left, LONG_POLL)
        found = yield from exchange(routes.get_pause(pause, wait=wait), patience=patience)
        if found.state is PauseState.SETTLED:
            return found
        now = time.monotonic()
        if until is not None and now >= until:
            raise StillWaiting(found)
        if now - asked > 1:
            delay = FIRST_DELAY
            continue
        # An open question or a vote ends a long poll at once: do not ask as fast as the machine can.
        yield Sleep(delay if until is None else min(delay, until - now))
        delay = min(delay * 2, LONGEST_DELAY / 4)


def _request(call: Call[T]) -> Send:
    headers = {
        "Accept": "application/json, application/problem+json",
        "User-Agent": f"reviewhub-agents/{__version__}",
    }
    if call.key is not None:
        headers["Idempotency-Key"] = call.key
    content = b""
    if call.body is not None:
        headers["Content-Type"] = "application/json"
        content = call.body.to_text().encode()
    return Send(call.method, call.path, call.query, headers, content, call.wait)


def _answer(call: Call[T], reply: Reply) -> T:
    tree = _tree(reply)
    try:
        if 200 <= reply.status < 300:
            return call.answer.from_tree(tree, lenient=True)
        problem = Problem.from_tree(tree)
    except BadJson as error:
        raise UnexpectedAnswer(
            f"{call.method} {call.path} was answered with {reply.status} and {error}"
        ) from error
    raise error_for(problem)


def _tree(reply: Reply) -> Tree:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/problem+json"):
        where = (
            f" to {reply.headers['location']:.200}"
            if 300 <= reply.status < 400 and "location" in reply.headers
            else ""
        )
        raise UnexpectedAnswer(
            f"The answer is {reply.status} {kind or 'without a type'}{where}, and not JSON."
        )
    try:
        return parse(reply.content, max_bytes=LONGEST_ANSWER, max_depth=1000, max_values=10_000_000)
    except BadJson as error:
        raise UnexpectedAnswer(f"The answer is {reply.status} with malformed JSON: {error}") from error


def _retry_after(reply: Reply) -> float:
    """Seconds that the server asks to wait, from a number or a date; 0 when it does not say."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
