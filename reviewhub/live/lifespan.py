"""What starts and ends with the server process."""

from __future__ import annotations

import asyncio

from reviewhub.live.asgi_types import Receive, Scope, Send
from reviewhub.live.hub import hub
from reviewhub.live.tailer import tailer


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI's lifespan protocol: follows the events from start to shutdown."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            hub.open()
            tailer.start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            hub.close()
            await asyncio.to_thread(tailer.stop)
            await send({"type": "lifespan.shutdown.complete"})
            return
