"""Long polling: a view that has nothing final to say is asked again when something happened.

The view knows nothing of waiting. It names what it depends on in a response header (`ReviewHub-Wait: pause:<uuid>`,
several separated by commas); with `?wait=SECONDS` this gate holds the answer back, waits for a hint on those topics and
asks the view again. No thread and no database connection is held meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from reviewhub.live.asgi_types import App, Message, Receive, Scope, Send
from reviewhub.live.hub import Hub
from reviewhub.live.refuse import refuse

HEADER = b"reviewhub-wait"
SETTLE_SECONDS = 0.02
"""Pause after a hint before reading again, so that a burst of events costs one read."""


@dataclass
class Answer:
    """What the view said, and whether it may be held back (`topics` is not empty)."""

    start: Message = field(default_factory=dict)
    pieces: list[Message] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    async def deliver(self, send: Send) -> None:
        """Sends it on."""
        await send(self.start)
        for piece in self.pieces:
            await send(piece)


class WaitGate:
    """ASGI application around another one that answers `http` scopes whose body is already here."""

    def __init__(self, app: App, *, hub: Hub, most_seconds: int) -> None:
        self.app = app
        self.hub = hub
        self.most_seconds = most_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = wait_parameter(scope)
        if asked is None:
            await self.app(scope, receive, without_header(send))
            return
        answer = await self._ask(scope, receive, send)
        if answer is None:
            return  # final, and already on its way
        if not asked.isascii() or not asked.isdigit() or int(asked) > self.most_seconds:
            await self._refuse_wait(scope, receive, send, asked)
            return
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            final = await self._hold(scope, send, answer, seconds=int(asked), gone=gone)
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
        if final is not None:
            await final.deliver(send)

    async def _hold(
        self, scope: Scope, send: Send, answer: Answer, *, seconds: int, gone: asyncio.Future[None]
    ) -> Answer | None:
        """The last answer that is not final when the time is over; None once a final one was sent or nobody waits."""
        deadline = time.monotonic() + seconds
        with self.hub.subscribe(*answer.topics) as subscription:
            while True:
                # Once after subscribing too: what happened between the first answer and the subscription.
                again = await self._ask(scope, nothing_more, send)
                if again is None or gone.done():
                    return None
                left = deadline - time.monotonic()
                if left <= 0 or subscription.closed:
                    return again
                hint = asyncio.ensure_future(subscription.wait(left))
                try:
                    either: list[asyncio.Future[Any]] = [hint, gone]
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    hint.cancel()
                await asyncio.sleep(SETTLE_SECONDS)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """Asks the view; an answer that need not wait is passed on as it comes, and None returned."""
        answer = Answer()

        async def look(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.topics = topics_of(message)
                message = stripped(message)
                if answer.topics:
                    answer.start = message
            if not answer.topics:
                await send(message)
            elif message["type"] == "http.response.body":
                answer.pieces.append(message)

        await self.app(dict(scope), receive, look)
        return answer if answer.topics else None

    async def _refuse_wait(self, scope: Scope, receive: Receive, send: Send, asked: str) -> None:
        text = f"wait must be a whole number of seconds from 0 to {self.most_seconds}, not {json.dumps(asked[:40])}."
        error = {"path": "wait", "code": "invalid", "message": text}
        await refuse(scope, receive, send, status=422, code="invalid", detail=text, extra={"errors": [error]})


def wait_parameter(scope: Scope) -> str | None:
    """The query's `wait`, for requests that only read; the last one when there are several."""
    if scope["method"] != "GET" or b"wait=" not in scope["query_string"]:
        return None
    values = parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True).get("wait")
    return values[-1] if values else None


def topics_of(start: Message) -> list[str]:
    """The topics named by a response's header."""
    named = [value.decode("latin-1") for name, value in start.get("headers", ()) if name.lower() == HEADER]
    return [topic.strip() for value in named for topic in value.split(",") if topic.strip()]


def stripped(start: Message) -> Message:
    """The same start of a response without the header, which is between view and gate only."""
    kept = [(name, value) for name, value in start.get("headers", ()) if name.lower() != HEADER]
    return {**start, "headers": kept}


def without_header(send: Send) -> Send:
    """A send that strips the header from an answer nobody waits for."""

    async def strip(message: Message) -> None:
        await send(stripped(message) if message["type"] == "http.response.start" else message)

    return strip


async def nothing_more() -> Message:
    """The receive of a repeated question: an empty body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def disconnected(receive: Receive) -> None:
    """Returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
