"""The door on the asynchronous side: a request takes one of the few WSGI threads only when it is whole.

Checked before: size (by its header, then while reading), time (slow uploads end with 408), who sends it (a wrong key is
401 before the body is read), and what the bridge to WSGI would misread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from reviewhub.live.asgi_types import App, Message, Receive, Scope, Send
from reviewhub.live.keycheck import KeyCheck
from reviewhub.live.refuse import refuse
from reviewhub.live.slowreader import patient_send

API_PREFIX = "/api/"
ANONYMOUS_BYTES = 64_000
"""Enough for the sign-in form; nobody else has a reason to send a body without a session or a key."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may bring; all numbers come from the settings."""

    body_bytes: int
    body_seconds: float
    buffered_bytes: int
    """For all requests of this process together."""
    session_cookie: str


class Refused(Exception):
    """The request is answered by the gate itself."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: dict[str, str] | None = None, **extra: object
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.headers, self.extra = status, code, detail, headers, extra


class BodyGate:
    """ASGI application around another one; only `http` scopes may come here."""

    def __init__(self, app: App, *, limits: Limits, keys: KeyCheck) -> None:
        self.app = app
        self.limits = limits
        self.keys = keys
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kept = 0
        send = patient_send(send)
        try:
            scope["headers"] = clean_headers(scope["headers"])
            check_target(scope)
            size = announced_size(scope["headers"])
            body = b""
            if size != 0:
                limit = self._limit(scope)
                if size is not None and size > limit:
                    raise too_large(size, limit)
                await self._check_sender(scope)
                kept = limit if size is None else size
                self._keep(kept)
                body = await read_body(receive, limit=limit, seconds=self.limits.body_seconds)
            scope["headers"] = with_length(scope["headers"], len(body))
            await self.app(scope, replay(body, receive), send)
        except Refused as no:
            await refuse(
                scope,
                receive,
                send,
                status=no.status,
                code=no.code,
                detail=no.detail,
                extra=no.extra,
                headers=no.headers,
                linger=no.status in {401, 413, 503},
            )
        except ClientGone:
            return
        finally:
            self._buffered -= kept

    def _limit(self, scope: Scope) -> int:
        """How large a body this request may have, in bytes."""
        known = authorization(scope["headers"]) is not None or has_cookie(
            scope["headers"], self.limits.session_cookie
        )
        return self.limits.body_bytes if known else min(ANONYMOUS_BYTES, self.limits.body_bytes)

    async def _check_sender(self, scope: Scope) -> None:
        """Refuses a body for the API that comes with no session and no known key."""
        if not scope["path"].startswith(API_PREFIX):
            return
        given = authorization(scope["headers"])
        if given is None:
            if has_cookie(scope["headers"], self.limits.session_cookie):
                return  # the view checks the session
            raise unauthenticated("This needs an agent's key: Authorization: Bearer rh_…")
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer" or not token.strip().isascii() or not token.strip():
            raise unauthenticated("The Authorization header is not of the form: Bearer rh_…")
        if not await self.keys.known(token.strip()):
            raise unauthenticated("The key is not known.")

    def _keep(self, size: int) -> None:
        """Counts `size` bytes as about to be held in memory."""
        if self._buffered + size > self.limits.buffered_bytes:
            self._buffered += size  # given back by the caller, as for every request
            raise Refused(
                503, "try_again", "Too many large bodies at once; try again.", headers={"retry-after": "1"}
            )
        self._buffered += size


class ClientGone(Exception):
    """The connection ended before the body was whole."""


async def read_body(receive: Receive, *, limit: int, seconds: float) -> bytes:
    """The whole body. More than `limit` bytes: 413; more than `seconds` for all of it: 408."""
    chunks: list[bytes] = []
    total = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                chunk = message.get("body", b"")
                total += len(chunk)
                if total > limit:
                    raise too_large(total, limit)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    return b"".join(chunks)
    except TimeoutError as error:
        raise Refused(
            408,
            "too_slow",
            f"The body was not complete after {seconds:g} s; {total} bytes had arrived.",
            limit=seconds,
            value=total,
        ) from error


def replay(body: bytes, receive: Receive) -> Receive:
    """A receive that hands out `body` once and then what the connection says (that it ended)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


Headers = Iterable[tuple[bytes, bytes]]


def clean_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Without names that hold an underscore: to WSGI they look like names with a hyphen, so they could forge one."""
    return [(name.lower(), value) for name, value in headers if b"_" not in name]


def check_target(scope: Scope) -> None:
    """Refuses addresses that the bridge or a database would choke on: U+0000, bytes outside ASCII in the query."""
    query: bytes = scope["query_string"]
    if "\x00" in scope["path"] or b"%00" in query or not query.isascii():
        raise Refused(400, "invalid", "The address holds U+0000 or bytes that must be percent-encoded.")


def announced_size(headers: Headers) -> int | None:
    """The body's size in bytes as announced; 0 for none, None when it comes in chunks of unknown number."""
    named = [(name, value.strip()) for name, value in headers]
    if any(name == b"transfer-encoding" for name, _ in named):
        return None
    sizes = {value for name, value in named if name == b"content-length"}
    if not sizes:
        return 0
    size = sizes.pop()
    if sizes or not size.isdigit():
        raise Refused(400, "invalid", "Content-Length is not one whole number.")
    return int(size)


def with_length(headers: Headers, size: int) -> list[tuple[bytes, bytes]]:
    """The headers as for a body that came in one piece, as WSGI needs them."""
    kept = [(name, value) for name, value in headers if name not in {b"transfer-encoding", b"content-length"}]
    return [*kept, (b"content-length", str(size).encode())]


def authorization(headers: Headers) -> str | None:
    """The Authorization header; several count as one that is garbled."""
    values = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    return ",".join(values) if values else None


def has_cookie(headers: Headers, cookie: str) -> bool:
    """Whether a cookie of that name was sent."""
    wanted = cookie.encode() + b"="
    return any(
        part.strip().startswith(wanted)
        for name, value in headers
        if name == b"cookie"
        for part in value.split(b";")
    )


def too_large(size: int, limit: int) -> Refused:
    """413, naming the limit and the value."""
    return Refused(
        413,
        "too_large",
        f"The body has at least {size} bytes; the limit is {limit}.",
        limit=limit,
        value=size,
    )


def unauthenticated(detail: str) -> Refused:
    """401 as RFC 9110 wants it."""
    return Refused(401, "unauthenticated", detail, headers={"www-authenticate": 'Bearer realm="reviewhub"'})
