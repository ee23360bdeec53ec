"""Errors that explain themselves: a stable code, an HTTP status and a sentence (the class docstring).

`reviewhub.api.problems` renders them for the API (RFC 9457), the pages show the same sentence.
"""

from __future__ import annotations

import inspect
from typing import Any


class ReviewHubError(Exception):
    """Something went wrong."""

    code = "error"
    status = 500

    def __init__(self, message: str = "", **extra: Any) -> None:
        self.message = message or inspect.getdoc(type(self)) or self.code
        self.extra = extra
        super().__init__(self.message)


class Invalid(ReviewHubError):
    """The request is well-formed, but not what is allowed here."""

    code, status = "invalid", 422

    def __init__(
        self, message: str = "", *, errors: list[dict[str, str]] | None = None, **extra: Any
    ) -> None:
        super().__init__(message, **extra)
        self.errors = errors or []

    @classmethod
    def at(cls, path: str, message: str, code: str = "invalid") -> Invalid:
        """One error at one path (a JSON pointer)."""
        return cls(f"{path or '/'}: {message}", errors=[{"path": path, "code": code, "message": message}])


class Forbidden(ReviewHubError):
    """You may not do this."""

    code, status = "forbidden", 403


class NotFound(ReviewHubError):
    """There is no such thing here."""

    code, status = "not_found", 404


class Conflict(ReviewHubError):
    """Somebody else changed this first."""

    code, status = "conflict", 409


class StaleState(Conflict):
    """Somebody else changed this first."""

    code = "stale_state"


class IllegalTransition(Conflict):
    """This cannot be done in the state that it is in."""

    code = "illegal_transition"


class IdempotencyConflict(Conflict):
    """This idempotency key was used before with another body."""

    code = "idempotency_conflict"


class TooLarge(ReviewHubError):
    """The request is larger than the limit."""

    code, status = "too_large", 413


class SlowDown(ReviewHubError):
    """Too many requests."""

    code, status = "slow_down", 429
    retry_seconds = 0
    """After how long it is worth trying again; 0: soon."""


class TryAgain(ReviewHubError):
    """This cannot be answered just now; the same request may be sent again."""

    code, status = "try_again", 503
