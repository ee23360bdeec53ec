"""Every refusal of the API in one form: RFC 9457, with a code that never changes its meaning.

`handle` is the API views' exception handler; `respond` makes the same answer outside of them. What nobody foresaw is a
500 that tells a reference and nothing else; the log has the rest under that reference.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import Http404, HttpResponse, RawPostDataException, UnreadablePostError
from rest_framework import exceptions as drf
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from reviewhub_agents.canonical import BadJson

from reviewhub.api.authentication import CHALLENGE
from reviewhub.core.errors import Invalid, NotFound, ReviewHubError, SlowDown, TooLarge, TryAgain

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
RETRY_SECONDS = 1
MAX_ERRORS = 50
MAX_TEXT = 2000
_RESERVED = frozenset({"type", "title", "status", "code", "detail", "instance", "errors"})
_SURROGATES = re.compile("[\ud800-\udfff]")
_PASSING = re.compile(
    r"database (table |schema )?is locked|database is busy"
    r"|database or disk is full|attempt to write a readonly database|disk I/O error"
)
_READ_ONLY = "25006"
"""PostgreSQL's code for a write where only reading is possible: on a standby, after a switch."""


@dataclass(frozen=True)
class Problem:
    """One refusal, ready to be written."""

    status: int
    code: str
    detail: str
    errors: Sequence[Mapping[str, Any]] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The members; those of `extra` never replace the standard ones."""
        members: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": _writable(self.detail[:MAX_TEXT]),
        }
        if self.errors:
            members["errors"] = [_writable(dict(error)) for error in self.errors[:MAX_ERRORS]]
        members.update(
            {name: _writable(value) for name, value in self.extra.items() if name not in _RESERVED}
        )
        return members


def handle(exc: Exception, context: Mapping[str, Any]) -> Response:
    """The exception handler of the API's views."""
    problem = problem_of(exc)
    return Response(
        problem.body(), status=problem.status, headers=_headers(problem), content_type=CONTENT_TYPE
    )


def respond(exc: Exception) -> HttpResponse:
    """The same answer for what never reached an API view (an unknown address, a middleware)."""
    problem = problem_of(exc)
    return HttpResponse(
        JSONRenderer().render(problem.body()),
        status=problem.status,
        headers=_headers(problem),
        content_type=CONTENT_TYPE,
    )


def problem_of(exc: Exception) -> Problem:
    """What to answer for `exc`. Logs what nobody foresaw."""
    if isinstance(exc, ReviewHubError):
        return _own(exc)
    if isinstance(exc, BadJson):
        return _bad_json(exc)
    if isinstance(exc, drf.APIException):
        return _drf(exc)
    if isinstance(exc, Http404):
        return _own(NotFound())
    if isinstance(exc, PermissionDenied):
        return Problem(403, "forbidden", "You may not do this.")
    if isinstance(exc, RequestDataTooBig):
        return _own(TooLarge())
    if isinstance(exc, UnreadablePostError | RawPostDataException):
        return Problem(400, "invalid_json", "The body could not be read as one JSON text.")
    if isinstance(exc, DatabaseError | InterfaceError) and _is_passing(exc):
        logger.warning("the database could not answer: %s", exc)
        return _own(TryAgain())
    return _unforeseen(exc)


def _own(exc: ReviewHubError) -> Problem:
    headers = {}
    if isinstance(exc, TryAgain | SlowDown):
        seconds = exc.retry_seconds if isinstance(exc, SlowDown) and exc.retry_seconds else RETRY_SECONDS
        headers["Retry-After"] = str(seconds)
    errors = exc.errors if isinstance(exc, Invalid) else ()
    return Problem(exc.status, exc.code, exc.message, errors=errors, extra=exc.extra, headers=headers)


def _bad_json(exc: BadJson) -> Problem:
    status = {"too_large": 413, "invalid": 422}.get(exc.code, 400)
    return Problem(status, exc.code, str(exc), errors=[{**fault} for fault in exc.errors])


def _drf(exc: drf.APIException) -> Problem:
    if isinstance(exc, drf.NotAuthenticated | drf.AuthenticationFailed):
        return Problem(401, "unauthenticated", str(exc.detail), headers={"WWW-Authenticate": CHALLENGE})
    if isinstance(exc, drf.Throttled):
        seconds = int(getattr(exc, "wait", None) or 0) + 1
        return Problem(
            429,
            "slow_down",
            f"Too many requests; try again in {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )
    codes = {
        400: "invalid_json",
        403: "forbidden",
        404: "not_found",
        405: "method_not_allowed",
        406: "not_acceptable",
        415: "unsupported_media_type",
    }
    return Problem(exc.status_code, codes.get(exc.status_code, "error"), str(exc.detail))


def _is_passing(exc: Exception) -> bool:
    """Whether the same request may well succeed later: a lock, a deadlock, a time-out, a lost connection, a full disk.

    PostgreSQL's driver has OperationalError for just these; SQLite's has it for a missing table too.
    """
    if getattr(exc.__cause__, "sqlstate", None) == _READ_ONLY:
        return True
    if not isinstance(exc, OperationalError | InterfaceError):
        return False
    return connection.vendor != "sqlite" or _PASSING.search(str(exc)) is not None


def _unforeseen(exc: Exception) -> Problem:
    reference = secrets.token_hex(6)
    logger.error("unforeseen error, reference %s", reference, exc_info=exc)
    detail = "Something went wrong here. The reference finds it in the server's log."
    return Problem(500, "error", detail, extra={"reference": reference})


def _headers(problem: Problem) -> dict[str, str]:
    return {"Cache-Control": "no-store", **problem.headers}


def _writable(value: Any) -> Any:
    """Text without halves of surrogate pairs, which no UTF-8 can hold; other values as they are."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_writable(str(key)): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return value
