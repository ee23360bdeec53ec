"""The door on the asynchronous side: a request takes one of the few WSGI threads only when it is whole.

Checked before: size (by its header, then while reading), time (slow uploads end with 408), who sends it (a wrong key is
401 before the body is read; only a known key or the session of somebody signed in may bring more than a form), what is
in memory already (`bodyroom`), and what the bridge to WSGI would misread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message as HeaderMessage
from urllib.parse import unquote_to_bytes

from reviewhub.live.asgi_types import App, Message, Receive, Scope, Send
from reviewhub.live.bodyroom import Body, Room, busy, client_of
from reviewhub.live.keycheck import KeyCheck
from reviewhub.live.refuse import Refused, refuse
from reviewhub.live.slowreader import patient_send

API_PREFIX = "/api/"
ANONYMOUS_BYTES = 64_000
"""Enough for the sign-in form; nobody else has a reason to send a body without a session or a key."""
_DIGITS = 19
"""Of a Content-Length. Python itself refuses to read numbers of several thousand digits."""
ANONYMOUS_SECONDS = 10.0
"""And it is there in a moment, also over a poor line."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may bring; all numbers come from the settings."""

    body_bytes: int
    body_seconds: float
    buffered_bytes: int
    """For all requests of this process together."""
    session_cookie: str


class BodyGate:
    """ASGI application around another one; only `http` scopes may come here."""

    def __init__(self, app: App, *, limits: Limits, keys: KeyCheck, sessions: KeyCheck) -> None:
        self.app = app
        self.limits = limits
        self.keys = keys
        self.sessions = sessions
        self.room = Room(
            most_bytes=limits.buffered_bytes,
            body_bytes=limits.body_bytes,
            anonymous_bytes=min(ANONYMOUS_BYTES, limits.body_bytes),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: Body | None = None
        send = patient_send(send)
        try:
            scope["headers"] = clean_headers(scope["headers"])
            check_target(scope)
            check_charset(scope["headers"])
            size = announced_size(scope["headers"])
            raw = b""
            if size != 0:
                if size is not None and size > self.limits.body_bytes:
                    raise too_large(size, self.limits.body_bytes)
                known = await self._is_known(scope)
                limit = self.limits.body_bytes if known else min(ANONYMOUS_BYTES, self.limits.body_bytes)
                if size is not None and size > limit:
                    raise too_large(size, limit)
                check_content(scope)
                held = self.room.enter(client_of(scope), known=known, announced=size or 0)
                raw = await self._read(receive, held, limit)
            scope["headers"] = with_length(scope["headers"], len(raw))
            await self.app(scope, replay(raw, receive), send)
        except Refused as no:
            if held is not None:
                self.room.leave(held)  # answering may take a while
            await refuse(
                scope,
                receive,
                send,
                status=no.status,
                code=no.code,
                detail=no.detail,
                extra=no.extra,
                headers=no.headers,
                linger=no.status in {401, 413, 415, 503},
            )
        except ClientGone:
            return
        finally:
            if held is not None:
                self.room.leave(held)

    async def _is_known(self, scope: Scope) -> bool:
        """Whether a known key or somebody signed in sends it. Raises Refused for an API request that is neither."""
        is_api = scope["path"].startswith(API_PREFIX)
        given = authorization(scope["headers"])
        if is_api and given is not None:
            await self._check_key(given)
            return True
        session = cookie_named(scope["headers"], self.limits.session_cookie)
        known = session is not None and await self.sessions.known(session)
        if is_api and not known:
            raise unauthenticated(
                "This needs an agent's key (Authorization: Bearer rh_…) or the session of somebody signed in."
            )
        return known

    async def _check_key(self, given: str) -> None:
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer" or not token.strip().isascii() or not token.strip():
            raise unauthenticated("The Authorization header is not of the form: Bearer rh_…")
        if not await self.keys.known(token.strip()):
            raise unauthenticated("The key is not known.")

    async def _read(self, receive: Receive, held: Body, limit: int) -> bytes:
        """The whole body. More than `limit` bytes: 413; too long for all of it: 408; no place for it: 503."""
        seconds = self.limits.body_seconds
        seconds = seconds if held.known else min(seconds, ANONYMOUS_SECONDS)
        chunks: list[bytes] = []
        total = 0
        try:
            async with held.clock:
                held.clock.reschedule(asyncio.get_running_loop().time() + seconds)
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    chunk = message.get("body", b"")
                    total += len(chunk)
                    if total > limit:
                        raise too_large(total, limit)
                    self.room.take(held, len(chunk))
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            if held.put_out:
                raise busy() from error
            raise Refused(
                408,
                "too_slow",
                f"The body was not complete after {seconds:g} s; {total} bytes had arrived.",
                limit=seconds,
                value=total,
            ) from error
        self.room.arrived(held)
        return b"".join(chunks)


class ClientGone(Exception):
    """The connection ended before the body was whole."""


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
    """Refuses addresses that the bridge or a database would choke on (U+0000, bytes outside ASCII in the query), and
    those that are no UTF-8: two of them would be read as one.
    """
    query: bytes = scope["query_string"]
    path: bytes = scope.get("raw_path") or b""
    if "\x00" in scope["path"] or b"%00" in query or not query.isascii():
        raise Refused(400, "invalid", "The address holds U+0000 or bytes that must be percent-encoded.")
    try:
        unquote_to_bytes(path).decode()
        unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        raise Refused(400, "invalid", "The address is not in UTF-8.") from None


def check_charset(headers: Headers) -> None:
    """Refuses texts in anything but UTF-8; with or without a body, since a framework may read addresses by it too."""
    charset = content_type(headers).get_param("charset", "utf-8")
    if str(charset).lower() not in {"utf-8", "utf8"}:
        raise unsupported(f"The charset is {charset}; texts are taken in utf-8 only.")


def check_content(scope: Scope) -> None:
    """Refuses bodies that are packed, and for the API those that say they are something else than JSON."""
    packed = [value.decode("latin-1") for name, value in scope["headers"] if name == b"content-encoding"]
    if any(one.strip().lower() not in {"", "identity"} for one in packed):
        raise unsupported(f"The Content-Encoding is {', '.join(packed)}; bodies are taken unpacked only.")
    named = any(name == b"content-type" for name, _ in scope["headers"])
    kind = content_type(scope["headers"]).get_content_type()
    if named and scope["path"].startswith(API_PREFIX) and kind != "application/json":
        raise unsupported(f"The Content-Type is {kind}; bodies are taken as application/json only.")


def content_type(headers: Headers) -> HeaderMessage:
    """The Content-Type with its parameters; several count as one that is garbled."""
    parsed = HeaderMessage()
    parsed["content-type"] = ",".join(
        value.decode("latin-1") for name, value in headers if name == b"content-type"
    )
    return parsed


def announced_size(headers: Headers) -> int | None:
    """The body's size in bytes as announced; 0 for none, None when it comes in chunks of unknown number."""
    named = [(name, value.strip()) for name, value in headers]
    if any(name == b"transfer-encoding" for name, _ in named):
        return None
    sizes = {value for name, value in named if name == b"content-length"}
    if not sizes:
        return 0
    size = sizes.pop()
    if sizes or not size.isdigit() or len(size) > _DIGITS:
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


def cookie_named(headers: Headers, cookie: str) -> str | None:
    """The value of the cookie of that name; of several the last, as Django reads it."""
    wanted = cookie.encode() + b"="
    found = [
        part.strip().removeprefix(wanted)
        for name, value in headers
        if name == b"cookie"
        for part in value.split(b";")
        if part.strip().startswith(wanted)
    ]
    return found[-1].decode("latin-1") if found else None


def too_large(size: int, limit: int) -> Refused:
    """413, naming the limit and the value."""
    return Refused(
        413,
        "too_large",
        f"The body has at least {size} bytes; the limit is {limit}.",
        limit=limit,
        value=size,
    )


def unsupported(detail: str) -> Refused:
    """415, naming what is taken."""
    return Refused(415, "unsupported_media_type", detail)


def unauthenticated(detail: str) -> Refused:
    """401 as RFC 9110 wants it."""
    return Refused(401, "unauthenticated", detail, headers={"www-authenticate": 'Bearer realm="reviewhub"'})
