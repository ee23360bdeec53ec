"""Why somebody does what keeps or removes something: never left out, and kept in the record."""

from __future__ import annotations

from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text

MOST = 2000


def check_reason(reason: str) -> None:
    """Raises Invalid when there is none, or one that is too long or cannot be kept."""
    check_text(reason, path="/reason")
    if not reason.strip():
        raise Invalid.at("/reason", "Say why; it is kept in the record.", "missing")
    if len(reason) > MOST:
        raise Invalid.at(
            "/reason", f"The reason has {len(reason)} characters; the limit is {MOST}.", "too_long"
        )
