"""Drives an ASGI application by hand: what arrives when, and what it answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from reviewhub.live.asgi_types import App, Message, Scope


@dataclass
class Answer:
    """What the application sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def http_scope(
    method: str = "GET", path: str = "/", query: str | bytes = "", headers: Iterable[tuple[str, str]] = ()
) -> Scope:
    """A request without its body."""
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": quote(path, safe="/%").encode(),
        "query_string": query if isinstance(query, bytes) else query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "http_version": "1.1",
    }


class Connection:
    """A client: sends `pieces` of a body with `pause` seconds between them, then waits until it hangs up."""

    def __init__(self, pieces: Iterable[bytes] = (b"",), *, pause: float = 0.0) -> None:
        self.pieces = list(pieces)
        self.pause = pause
        self.read = 0
        self.hung_up = asyncio.Event()
        self.answer = Answer()

    async def receive(self) -> Message:
        if self.read < len(self.pieces):
            await asyncio.sleep(self.pause)
            piece = self.pieces[self.read]
            self.read += 1
            return {"type": "http.request", "body": piece, "more_body": self.read < len(self.pieces)}
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answer.status = message["status"]
            self.answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.answer.body += message.get("body", b"")
            self.answer.ended = not message.get("more_body", False)


async def ask(app: App, scope: Scope, connection: Connection | None = None) -> Answer:
    """One request, to its end."""
    connection = connection or Connection()
    await app(scope, connection.receive, connection.send)
    return connection.answer
