"""Free text that people write: what no store can keep is refused, and more than the limit."""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from reviewhub_agents.canonical.values import unsafe, unsafe_message

from reviewhub.core.errors import Invalid


class Fault(NamedTuple):
    """Why a text is not taken: a stable code and a sentence."""

    code: str
    message: str


def fault_of(text: str, *, limit: int, what: str = "text") -> Fault | None:
    """What is wrong with `text`, called `what` in the sentence; None when it can be kept. `limit` in bytes of UTF-8."""
    found = unsafe(text)
    if found is not None:
        return Fault("invalid", unsafe_message(found, what=what))
    size = len(text.encode())
    if size > limit:
        return Fault("too_large", f"The {what} has {size} bytes; the limit is {limit}.")
    return None


def check_text(text: str, *, path: str) -> None:
    """Raises Invalid when `text` holds U+0000 or half of a surrogate pair, or is longer than LIMIT_TEXT_BYTES.

    The verbs that take free text ask here, whoever calls them: the API has asked already, a page or a command may not.
    """
    fault = fault_of(text, limit=settings.LIMIT_TEXT_BYTES)
    if fault is not None:
        raise Invalid.at(path, fault.message, fault.code)
