"""Times and numbers as the policy editor takes and shows them."""

from __future__ import annotations

import re

from reviewhub.core.errors import Invalid
from reviewhub.policies.requirement import LONGEST_SECONDS

UNITS = {"m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"\s*(\d{1,6})\s*([smhd]?)\s*")


def seconds_of(text: str, field: str = "deadline_seconds") -> int:
    """`15 m`, `2 h`, `1 d`, `90 s` or plain minutes as seconds. Raises Invalid, naming the field."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Invalid.at(f"/{field}", "Write a time such as 15 m, 2 h or 1 d.")
    seconds = int(match.group(1)) * {"s": 1, "": 60, **UNITS}[match.group(2)]
    if not 1 <= seconds <= LONGEST_SECONDS:
        raise Invalid.at(
            f"/{field}", f"Write a time of at least 1 s and at most {LONGEST_SECONDS // 86_400} d."
        )
    return seconds


def duration_words(seconds: int | None) -> str:
    """Seconds as the form takes them."""
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def whole(text: str, name: str) -> int:
    """A whole number of up to five digits. Raises Invalid, naming the field."""
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) < 6):
        raise Invalid.at(f"/{name}", "Write a whole number.")
    return int(text)
