"""Times and numbers as the policy editor takes and shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reviewhub.policies.requirement import LONGEST_SECONDS

UNITS = {"m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"\s*(\d{1,6})\s*([smhd]?)\s*")


@dataclass(frozen=True)
class Unread:
    """What was written where a number belongs, and what to write instead.

    As the text that it is it stands in the policy's text, whose reader refuses it with all else that is wrong.
    """

    text: str
    instead: str


def seconds_of(text: str) -> int | Unread:
    """`15 m`, `2 h`, `1 d`, `90 s` or plain minutes as seconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return Unread(text, "Write a time such as 15 m, 2 h or 1 d.")
    seconds = int(match.group(1)) * {"s": 1, "": 60, **UNITS}[match.group(2)]
    if not 1 <= seconds <= LONGEST_SECONDS:
        return Unread(text, f"Write a time of at least 1 s and at most {LONGEST_SECONDS // 86_400} d.")
    return seconds


def duration_words(seconds: int | None) -> str:
    """Seconds as the form takes them."""
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def whole(text: str) -> int | Unread:
    """A whole number of up to five digits."""
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) < 6):
        return Unread(text, "Write a whole number.")
    return int(text)


def written(tree: Any) -> Any:
    """A part of a policy as it can be written down: what could not be read as the text that it is."""
    if isinstance(tree, dict):
        return {key: written(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [written(value) for value in tree]
    return tree.text if isinstance(tree, Unread) else tree


def unread(tree: Any, path: str = "") -> dict[str, str]:
    """What to write instead of each value of a policy's text that could not be read, by its path."""
    if isinstance(tree, Unread):
        return {path: tree.instead}
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return {at: words for key, value in inside for at, words in unread(value, f"{path}/{key}").items()}
