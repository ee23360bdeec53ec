"""What holds a call by now, where that is not what policy said when it was proposed: after an edit, or asked again."""

from __future__ import annotations

from typing import Any

from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.toolcalls.models import ToolCall

HELD = '{"action":"require"'
"""How `because` of a call begins that policy held when it was proposed: canonical text, the keys in order."""


def held_now(call: ToolCall, request: ReviewRequest) -> Stored | None:
    """What the sign-off of a call rests on by now; None when that is still what was said at first.

    Args:
        request: the newest about the call, or the one that is looked at.
    """
    may_be_later = request.version > 1 or request.again_of_id is not None or not call.because.startswith(HELD)
    if request.kind == ReviewRequest.Kind.UNKNOWN or not may_be_later:
        return None
    stored = Stored.model_validate_json(request.requirement)
    return stored if request.version > 1 or stored.then is not None else None


def because_of(stored: Stored) -> dict[str, Any]:
    """The same as the API says it."""
    found = {
        "kind": "rule" if stored.rule else "default",
        "text": stored.text,
        "policy_version": stored.policy_version,
    }
    return {**found, "rule": stored.rule} if stored.rule else found
