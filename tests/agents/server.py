"""The real server behind httpx's mock transport, in the test's own process and transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
from django.test import Client

URL = "http://testserver"


def transport(before: Callable[[httpx.Request], None] = lambda request: None) -> httpx.MockTransport:
    """A transport for both clients; `before` is told of each request, to decide something meanwhile, say."""
    server = Client()

    def answer(request: httpx.Request) -> httpx.Response:
        # Django gives coroutines connections of their own, in which the test's transaction cannot be seen.
        loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        try:
            return respond(request)
        finally:
            asyncio._set_running_loop(loop)

    def respond(request: httpx.Request) -> httpx.Response:
        before(request)
        response = server.generic(
            request.method,
            request.url.raw_path.decode(),
            request.content,
            content_type=request.headers.get("content-type", ""),
            headers={name: value for name, value in request.headers.items() if name != "content-length"},
        )
        return httpx.Response(response.status_code, headers=dict(response.items()), content=response.content)

    return httpx.MockTransport(answer)
