"""How the texts of one call read, for tests that hold back. Each is folded once, whatever asks for it. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from reviewhub.policies.names import fold_case, fold_look

MOST_FOLDED = 8000
"""The most characters of one value, taken apart, that are compared by how they read; plain ASCII counts nothing."""
MOST_MARKS = 10
"""On one letter: to put more of them in order takes time in proportion to their square, and no language has them."""
_ODD = dict.fromkeys([*range(0x21), 0x7F])


class TooLong(Exception):
    """A value of which it would cost too much to say how it reads; the text says why."""


@dataclass(frozen=True)
class Items:
    """How the texts of a list read. `left_out` says why some of them are not in it; empty where all are."""

    as_they_are: frozenset[str]
    by_case: frozenset[str]
    by_look: frozenset[str]
    left_out: str


class Readings:
    """The foldings of the values of one call."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._lists: dict[int, tuple[Sequence[str], Items]] = {}

    def of_text(self, text: str) -> tuple[str, str]:
        """The text as `fold_case` and as `fold_look` have it. Raises TooLong."""
        found = self._texts.get(text)
        if found is None:
            _check(text, MOST_FOLDED)
            found = self._texts[text] = _folded(text)
        return found

    def of_list(self, texts: Sequence[str]) -> Items:
        """All texts of a list; of those in other letters than plain ones as many as may be folded together."""
        kept = self._lists.get(id(texts))
        if kept is None:
            kept = self._lists[id(texts)] = texts, _items(texts)
        return kept[1]


def folded_value(text: str) -> tuple[str, str]:
    """A text of a policy in both foldings: policies are few and say the same again and again."""
    return fold_case(text), fold_look(text)


def _items(texts: Sequence[str]) -> Items:
    left, left_out = MOST_FOLDED, ""
    read: list[tuple[str, str]] = []
    for text in dict.fromkeys(texts):
        try:
            left -= _check(text, left)
        except TooLong as error:
            left, left_out = 0, str(error)
            continue
        read.append(_folded(text))
    case, look = zip(*read, strict=True) if read else ((), ())
    return Items(frozenset(texts), frozenset(case), frozenset(look), left_out)


def _check(text: str, left: int) -> int:
    """How much of `left` the text takes. Raises TooLong."""
    if text.isascii():
        return 0
    if len(text) > left or (size := _size(text)) > left:
        raise TooLong(f"more than {MOST_FOLDED} characters in other letters than plain ones")
    return size


def _size(text: str) -> int:
    """The characters of a text, taken apart: one of them can stand for eighteen."""
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks > MOST_MARKS:
            raise TooLong(f"a letter with more than {MOST_MARKS} marks")
    return len(unicodedata.normalize("NFKD", text))


def _folded(text: str) -> tuple[str, str]:
    if text.isascii():
        # Both foldings make the same of it, at any length.
        plain = text.translate(_ODD).lower()
        return plain, plain
    return fold_case.__wrapped__(text), fold_look.__wrapped__(text)
