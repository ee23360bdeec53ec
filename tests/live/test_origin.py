"""Which pages may open a WebSocket here."""

from __future__ import annotations

from typing import Any

import pytest

from reviewhub.live.asgi_types import Message, Receive, Scope, Send
from reviewhub.live.origin import SameOrigin, allowed


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("https://Hub.example.com", "hub.example.com", True),
        ("https://other.example.com", "hub.example.com", True),  # trusted
        ("http://127.0.0.1:9999", "127.0.0.1:8000", False),  # another program on this machine
        ("https://hub.example.com.evil.test", "hub.example.com", False),
        ("null", "hub.example.com", False),
        ("file://", "", False),
        ("", "hub.example.com", False),
    ],
)
def test_origin_and_host(origin: str, host: str, *, may: bool, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://other.example.com"]
    headers = {b"host": host.encode()} | ({b"origin": origin.encode()} if origin else {})
    assert allowed(headers) is may


async def test_a_refused_socket_never_reaches_the_application() -> None:
    sent: list[Message] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("reached")

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "websocket", "headers": [(b"host", b"a"), (b"origin", b"http://b")]}
    await SameOrigin(inner)(scope, receive, send)
    assert sent == [{"type": "websocket.close"}]
