"""Problems: how the API says no (RFC 9457)."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from .base import Wire
from .fields import Int


class FaultOut(Wire):
    """One thing wrong with the input."""

    model_config = ConfigDict(extra="ignore")

    path: str
    code: str
    message: str


class Problem(Wire):
    """`application/problem+json`. A `code` never changes its meaning; `extra` holds what else it carries."""

    model_config = ConfigDict(extra="allow")

    status: Int
    code: str
    title: str = ""
    detail: str = ""
    type: str = "about:blank"
    instance: str = ""
    errors: list[FaultOut] = []

    @property
    def extra(self) -> dict[str, Any]:
        """The members that belong to this code, such as `continue_from`."""
        return dict(self.__pydantic_extra__ or {})
