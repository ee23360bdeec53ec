"""How much one message may hold: the operator's numbers for the contract."""

from __future__ import annotations

from django.conf import settings
from reviewhub_agents import wire


def limits() -> wire.Limits:
    """The limits of this installation. Whoever reads a body for the server reads it with them."""
    return wire.Limits(
        text_bytes=settings.LIMIT_TEXT_BYTES,
        arguments_bytes=settings.LIMIT_ARGUMENTS_BYTES,
        tool_calls=settings.LIMIT_TOOL_CALLS,
    )
