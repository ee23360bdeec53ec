"""What something is found by: its words, folded, so that both databases find the same by the same.

A word is a stretch of letters and digits; a character of a script that puts no spaces between words is one by itself.
Something is found by a text when each word of the text begins one of its words. What a sign joins to the next word, as
in `INV-2024-17`, has to be one of its words as it is: of an id only the end may be missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reviewhub_agents.canonical import Number, Tree

WORD_CHARACTERS: Final = 40
MOST_WORDS: Final = 300
MOST_ASKED: Final = 12
MOST_CHARACTERS: Final = 100_000
"""Of all texts together; what comes later is not found."""

_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_IS_ALONE = re.compile(rf"[{_ALONE}]")
_WORDS = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
# 1,240.00 is the number that an argument spells 1240.00.
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Up to 200 characters, to a space if there is one: marks are put in order within a piece, which takes the square of its
# length where they are many.
_PIECES = re.compile(r".{1,200}(?!\S)|\S{1,200}|.", re.DOTALL)


def fold(text: str) -> str:
    """The form in which texts are compared: without letter case, and with one way to write each letter."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words_text(texts: Iterable[str]) -> str:
    """The words of these texts with a space between, each once and at most MOST_WORDS, as they are stored."""
    found: dict[str, None] = {}
    for word in _words(_beginning(texts)):
        found.setdefault(word)
        if len(found) == MOST_WORDS:
            break
    return " ".join(found)


@dataclass(frozen=True)
class Asked:
    """A word that somebody looks for: the beginning of one, or one as it is."""

    text: str
    is_whole: bool = False


def words_asked(text: str) -> tuple[Asked, ...]:
    """The words that somebody looks for, at most MOST_ASKED; none: there is nothing to look for."""
    found: dict[str, bool] = {}
    for part in text.split():
        words = list(_words(part))
        for at, word in enumerate(words):
            is_joined = at + 1 < len(words) and not _IS_ALONE.match(word)
            found[word] = found.get(word, False) or is_joined
    return tuple(Asked(*one) for one in found.items())[:MOST_ASKED]


def values_in(tree: Tree) -> Iterator[str]:
    """Every text and number of a JSON value, as written."""
    todo = [tree]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo.extend(reversed(value.values()))
        elif isinstance(value, list):
            todo.extend(reversed(value))
        elif isinstance(value, Number):
            yield value.literal
        elif isinstance(value, str):
            yield value


def _beginning(texts: Iterable[str]) -> str:
    """The first MOST_CHARACTERS of these texts, with a space between."""
    taken: list[str] = []
    left = MOST_CHARACTERS
    for text in texts:
        taken.append(text[:left])
        left -= len(text) + 1
        if left <= 0:
            break
    return " ".join(taken)


def _words(text: str) -> Iterator[str]:
    left = MOST_CHARACTERS
    for piece in [text] if text.isascii() else _PIECES.findall(text):
        if not left:
            return
        folded = fold(piece)[:left]  # a sign may stand for a whole sentence
        left -= len(folded)
        for match in _WORDS.finditer(THOUSANDS.sub("", folded)):
            yield match[0][:WORD_CHARACTERS]
