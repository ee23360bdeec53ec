"""Answers that the asynchronous side gives itself, in the API's form: RFC 9457 problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus

from reviewhub.live.asgi_types import Receive, Scope, Send

LINGER_SECONDS = 1.0
LINGER_BYTES = 2_000_000


class Refused(Exception):
    """The request is answered on the asynchronous side, by this problem."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: dict[str, str] | None = None, **extra: object
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.headers, self.extra = status, code, detail, headers, extra


async def refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    status: int,
    code: str,
    detail: str,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    linger: bool = False,
) -> None:
    """Answers with one problem and ends the connection; `extra` members are added to it.

    `linger`: the client may still be sending. Reading on for a moment after the answer lets it see the answer instead
    of a reset connection; it lasts LINGER_SECONDS and LINGER_BYTES at most and keeps nothing.
    """
    body = problem(status=status, code=code, detail=detail, extra=extra)
    named = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "connection": "close",
        **(headers or {}),
    }
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    # An early hint of the end would make the server drop what is still being sent.
    await send({"type": "http.response.body", "body": body, "more_body": linger})
    if linger:
        await _drain(scope, receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def problem(*, status: int, code: str, detail: str, extra: Mapping[str, object] | None = None) -> bytes:
    """The bytes of an RFC 9457 problem."""
    members = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **(extra or {}),
    }
    return json.dumps(members, ensure_ascii=False).encode()


async def _drain(scope: Scope, receive: Receive) -> None:
    expects = any(name == b"expect" for name, _ in scope["headers"])
    if expects:
        return  # it waits for our word before it sends, and got a refusal
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return
