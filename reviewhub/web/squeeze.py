"""A style sheet without what only people read: comments, indentation, space around marks."""

from __future__ import annotations

import re
from typing import Final

_KEPT: Final = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^"'()]*\))"""
_KEPT_OR_COMMENT: Final = re.compile(_KEPT + r"|/\*.*?\*/", re.DOTALL)
_AROUND_MARKS: Final = re.compile(r" ?([{};,]) ?")
_BEFORE_VALUE: Final = re.compile(r"(?<=[\w-]): ")


def squeezed(css: str) -> str:
    """The same rules in fewer characters.

    Quoted text and addresses keep every character. Space stays wherever it may mean something: between words, around
    operators, and before a colon, where a selector goes on.
    """
    plain = _KEPT_OR_COMMENT.sub(lambda found: found[1] or " ", css)
    parts = re.split(_KEPT, plain)
    parts[::2] = [_bare(part) for part in parts[::2]]
    return "".join(parts).strip()


def _bare(text: str) -> str:
    text = _AROUND_MARKS.sub(r"\1", re.sub(r"\s+", " ", text))
    return _BEFORE_VALUE.sub(":", text).replace(";}", "}")
