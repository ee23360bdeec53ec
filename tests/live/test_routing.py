"""WebSocket addresses where there is nothing."""

from __future__ import annotations

import pytest
from channels.routing import URLRouter

from reviewhub.live.asgi_types import Message
from reviewhub.live.routing import websocket_urlpatterns


@pytest.mark.parametrize(
    "path", ["/ws/x/y", "/ws/", "/", "/ws/nor\x00th/queue", "/ws/north/requests/x", "/ws/north/queue/"]
)
async def test_an_unknown_address_is_closed_quietly(path: str) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"} if not sent else {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": path, "headers": [], "query_string": b""}
    await URLRouter(websocket_urlpatterns)(scope, receive, send)
    assert [one["type"] for one in sent] == ["websocket.close"]
