"""When an approval came sooner than it can be meant. Pure; a sign to look at, and no proof of anything."""

from __future__ import annotations

CHARACTERS_A_SECOND = 75
"""Three times as fast as people read: 250 words of six characters a minute are 25 a second."""
LEAST_SECONDS = 2.0
MOST_CHARACTERS = 3000
"""Longer values are skimmed, by everybody."""


def seconds_needed(characters: int) -> float:
    """The least time in which so much can be taken in, in seconds."""
    return LEAST_SECONDS + min(characters, MOST_CHARACTERS) / CHARACTERS_A_SECOND


def is_quick(seconds: float, characters: int) -> bool:
    """Whether a page was open for less than what it says takes to read.

    Args:
        seconds: from opening the page to the vote.
        characters: of the arguments, or of what changed since the version that the voter answered before.
    """
    return seconds < seconds_needed(characters)
