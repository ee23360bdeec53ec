"""How much one message may hold: the operator's numbers for the contract."""

from __future__ import annotations

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.core.errors import Invalid


def limits() -> wire.Limits:
    """The limits of this installation. Whoever reads a body for the server reads it with them."""
    return wire.Limits(
        text_bytes=settings.LIMIT_TEXT_BYTES,
        arguments_bytes=settings.LIMIT_ARGUMENTS_BYTES,
        tool_calls=settings.LIMIT_TOOL_CALLS,
        depth=settings.LIMIT_DEPTH,
    )


def check_arguments(text: str, *, path: str) -> None:
    """Raises Invalid at `path` when the canonical arguments of a call are larger than an installation takes."""
    size, limit = len(text.encode()), settings.LIMIT_ARGUMENTS_BYTES
    if size > limit:
        raise Invalid.at(path, f"{size} bytes; the limit for arguments is {limit}", code="too_large")


def parse_sent(raw: bytes | str) -> canonical.Tree:
    """JSON that somebody sends or types, within the limits of today. What is stored is read by `canonical.reread`.

    Raises:
        BadJson: it is no JSON, or larger or deeper than the limits; with the path.
    """
    return canonical.parse(raw, max_bytes=settings.LIMIT_BODY_BYTES, max_depth=settings.LIMIT_DEPTH)
