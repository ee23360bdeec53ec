"""`/healthz` and `/readyz`, answered before everything else: no host check, no session, no WSGI thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from reviewhub.live.asgi_types import App, Receive, Scope, Send


class Probes:
    """ASGI application around another one. `ready` says in words what keeps this process from answering."""

    def __init__(self, app: App, *, ready: Callable[[], list[str]]) -> None:
        self.app = app
        self._ready = ready
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="probe")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/healthz":
            await _answer(send, status=200, body={"status": "ok"})
        elif scope["path"] == "/readyz":
            problems = await asyncio.get_running_loop().run_in_executor(self._thread, self._ready)
            body = {"status": "unready", "problems": problems} if problems else {"status": "ready"}
            await _answer(send, status=503 if problems else 200, body=body)
        else:
            await self.app(scope, receive, send)


async def _answer(send: Send, *, status: int, body: object) -> None:
    raw = json.dumps(body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(raw)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": raw})
