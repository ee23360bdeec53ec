"""The web server of this project: uvicorn with its limits, and a stop that lets nobody hang."""

from __future__ import annotations

import asyncio
import socket
from types import FrameType

import uvicorn

from reviewhub.live.hub import hub

DRAIN_SECONDS = 10


class Server(uvicorn.Server):
    """Ends waiting long polls the moment it is told to stop; uvicorn alone would wait for their time-out."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called by the signal."""
        hub.close()
        super().handle_exit(sig, frame)


def serve(*, host: str = "127.0.0.1", port: int = 8000, listener: socket.socket | None = None) -> None:
    """Serves until SIGTERM or SIGINT, then drains for DRAIN_SECONDS at most. `listener` wins over host and port."""
    config = uvicorn.Config(
        "reviewhub.asgi:application",
        host=host,
        port=port,
        http="h11",
        ws="websockets-sansio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ws_max_size=64_000,
        h11_max_incomplete_event_size=64_000,
        backlog=2048,
    )
    server = Server(config)
    asyncio.run(server.serve(sockets=[listener] if listener else None))
