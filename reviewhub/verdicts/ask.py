"""Asks a webhook for its verdict: one request, one time limit, no redirects, only the very address that was checked."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import httpx

from reviewhub.verdicts.address import Place, Refused, look_up

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
    try:
        return _read(_answer(look_up(url, private=private), body, key, time.monotonic() + seconds))
    except Refused as refused:
        return Said(status="error", detail=str(refused))
    except (httpx.TimeoutException, TimeoutError):
        return Said(status="timed_out", detail=f"No answer within {seconds:g} s.")
    except httpx.HTTPError as error:
        return Said(status="error", detail=f"It could not be asked: {type(error).__name__}."[:MAX_DETAIL])
    except (_NoVerdict, ValueError) as error:
        return Said(status="error", detail=str(error)[:MAX_DETAIL])


def _answer(place: Place, body: str, key: str, until: float) -> bytes:
    parts = urlsplit(place.url)
    port = f":{parts.port}" if parts.port else ""
    literal = f"[{place.ip}]" if ":" in place.ip else place.ip
    url = urlunsplit((parts.scheme, f"{literal}{port}", parts.path or "/", parts.query, ""))
    headers = {"Host": f"{place.host}{port}", "Content-Type": "application/json", "Idempotency-Key": key}
    left = max(0.01, until - time.monotonic())
    # No proxy and no credentials of this machine's environment, and no cookie.
    with httpx.Client(trust_env=False, follow_redirects=False, timeout=left) as client:
        request = client.build_request(
            "POST", url, content=body.encode(), headers=headers, extensions={"sni_hostname": place.host}
        )
        reply = client.send(request, stream=True)
        try:
            return _whole(reply, until)
        finally:
            reply.close()


def _whole(reply: httpx.Response, until: float) -> bytes:
    if reply.is_redirect:
        raise _NoVerdict("It answered with a redirect, which is not followed.")
    if reply.status_code not in (200, 201):
        raise _NoVerdict(f"It answered with the status {reply.status_code}.")
    found = bytearray()
    for chunk in reply.iter_raw(4096):
        found += chunk
        if len(found) > MAX_ANSWER:
            raise _NoVerdict(f"Its answer has more than {MAX_ANSWER} bytes.")
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(found)


def _read(answer: bytes) -> Said:
    """`{"passed": true, "detail": "…", "contradicts": "…"}`; everything but a plain `true` is no yes."""
    try:
        tree = json.loads(answer)
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
