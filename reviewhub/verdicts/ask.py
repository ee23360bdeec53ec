"""Asks a webhook for its verdict: one request, one time limit, no redirects, only the very address that was checked."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
from reviewhub_agents import canonical

from reviewhub.verdicts.address import Place, Refused, look_up

log = logging.getLogger(__name__)
MAX_ANSWER = 64_000
MAX_DETAIL = 2000


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came of asking. Only `passed` is a yes."""

    status: str
    detail: str = ""
    contradicts: str = ""


class _NoVerdict(Exception):
    """What came is no verdict."""


def ask(*, url: str, body: str, key: str, seconds: float, private: bool) -> Said:
    """The verdict of the webhook at `url`; never raises.

    Args:
        body: canonical JSON.
        key: the same for every time that this verdict is asked for.
        seconds: for all of it, however slowly the answer drips in.
        private: whether addresses of the house are allowed.
    """
    until = time.monotonic() + seconds
    late = Said(status="timed_out", detail=f"No answer within {seconds:g} s.")
    try:
        answer = _answer(look_up(url, private=private, seconds=seconds), body, key, until)
        return _read(answer) if time.monotonic() < until else late
    except Refused as refused:
        return Said(status="error", detail=str(refused))
    except (httpx.TimeoutException, TimeoutError):
        return late
    except httpx.HTTPError as error:
        if time.monotonic() >= until:
            return late
        return Said(status="error", detail=f"It could not be asked: {type(error).__name__}."[:MAX_DETAIL])
    except (_NoVerdict, ValueError) as error:
        return Said(status="error", detail=str(error)[:MAX_DETAIL])
    except Exception as error:
        log.exception("a webhook could not be asked, or its answer not be read")
        return Said(status="error", detail=f"It gave no verdict: {type(error).__name__}."[:MAX_DETAIL])


def _answer(place: Place, body: str, key: str, until: float) -> bytes:
    parts = urlsplit(place.url)
    port = f":{parts.port}" if parts.port else ""
    literal = f"[{place.ip}]" if ":" in place.ip else place.ip
    url = urlunsplit((parts.scheme, f"{literal}{port}", parts.path or "/", parts.query, ""))
    headers = {"Host": f"{place.host}{port}", "Content-Type": "application/json", "Idempotency-Key": key}
    left = max(0.01, until - time.monotonic())
    # No proxy and no credentials of this machine's environment, and no cookie.
    with (
        _cut_off(until) as trace,
        httpx.Client(trust_env=False, follow_redirects=False, timeout=left) as client,
    ):
        about = {"sni_hostname": place.host, "trace": trace}
        request = client.build_request("POST", url, content=body.encode(), headers=headers, extensions=about)
        reply = client.send(request, stream=True)
        try:
            return _whole(reply, until)
        finally:
            reply.close()


@contextmanager
def _cut_off(until: float) -> Iterator[Any]:
    """Shuts the connection at that time. The client's own limit is for each read, and a byte now and then meets it.

    Yields what the client is to tell its steps (`trace`).
    """
    lines: list[socket.socket] = []

    def told(step: str, about: dict[str, Any]) -> None:
        if step == "connection.connect_tcp.complete":
            # A second handle: TLS takes the first one over.
            lines.append(about["return_value"].get_extra_info("socket").dup())
            if time.monotonic() >= until:
                raise TimeoutError

    def cut() -> None:
        for line in lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.01, until - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield told
    finally:
        timer.cancel()
        timer.join()
        for line in lines:
            line.close()


def _whole(reply: httpx.Response, until: float) -> bytes:
    if reply.is_redirect:
        raise _NoVerdict("It answered with a redirect, which is not followed.")
    if reply.status_code not in (200, 201):
        raise _NoVerdict(f"It answered with the status {reply.status_code}.")
    found = bytearray()
    for chunk in reply.iter_raw():
        found += chunk
        if len(found) > MAX_ANSWER:
            raise _NoVerdict(f"Its answer has more than {MAX_ANSWER} bytes.")
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(found)


def _read(answer: bytes) -> Said:
    """`{"passed": true, "detail": "…", "contradicts": "…"}`; everything but a plain `true` is no yes."""
    try:
        tree = canonical.parse(answer)
    except ValueError as error:
        raise _NoVerdict("Its answer is no JSON.") from error
    if not isinstance(tree, dict) or not isinstance(tree.get("passed"), bool):
        raise _NoVerdict("Its answer does not say whether it passed.")
    return Said(
        status="passed" if tree["passed"] else "failed",
        detail=_text(tree.get("detail"))[:MAX_DETAIL],
        contradicts=_text(tree.get("contradicts"))[:100],
    )


def _text(value: object) -> str:
    """A text without what no database takes."""
    return value.replace("\x00", "").encode("utf-8", "replace").decode() if isinstance(value, str) else ""
