"""Whom a text of an agent names: an e-mail address or an id, however it is spelled. Pure.

A list asks the database, which knows no letters that look alike. So what is written in plain characters is looked for
there as it is (`plainly`), and of any other text a reading is kept beforehand (`reading`), in which an address stands
exactly where `names` finds it (`sought`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import unescape
from urllib.parse import unquote

from reviewhub.policies.names import fold_look

ODD = r"""[^ !#$'-~]| [@.]|[@.] """
"""What a text holds that may read otherwise than it is written; for Python and the databases alike."""
_BEGINS, _ENDS = "\x01", "\x02"
# Where an address may begin and end, so that it is no part of a longer one.
_MAY_BEGIN = re.compile(r"(?<![\w.%+-])")
_MAY_END = re.compile(r"(?![\w-]|\.\w)")
_ODD = re.compile(ODD)
_NO_MARKS = {ord(_BEGINS): " ", ord(_ENDS): " "}


def names(text: str, address: str) -> bool:
    """Whether a text that an agent wrote names an e-mail address, or an id, however it spells it.

    In wide letters or in such that look like them, with a name, quoted, escaped as in a URL or a page, after a sign: as
    long as it is no part of a longer one.
    """
    return stands_in(address, readings([text]))


def readings(texts: Iterable[str]) -> list[str]:
    """How some texts read, for `stands_in`: found out once, however many addresses are looked for."""
    return list(dict.fromkeys(_marked(fold(text)) for text in texts for fold in (_plain, _look)))


def stands_in(address: str, read: Sequence[str]) -> bool:
    """Whether one of these readings names an address, or an id."""
    return any(one in text for one in sought(address) for text in read)


def reading(texts: Iterable[str]) -> str:
    """How those of some texts read that are written in odd characters: to be kept, and searched for what is
    `sought`."""
    return "\n".join(readings(sorted({text for text in texts if _ODD.search(text)})))


def sought(address: str) -> list[str]:
    """What stands in a `reading` exactly where it names an address, or an id; one of these is enough."""
    return list(dict.fromkeys(_marked(fold(address)) for fold in (_plain, _look)))


def plainly(address: str) -> str:
    """The expression, in any letter case, by which a text without anything `ODD` names an address, or an id."""
    either = "|".join(dict.fromkeys(re.escape(fold(address)) for fold in (_plain, _look)))
    return rf"(^|[^\w.%+-])({either})($|[^\w.-]|\.($|\W))"


def _marked(text: str) -> str:
    """The text with a mark at each place where an address may begin or end."""
    text = text.translate(_NO_MARKS)
    begins, ends = ({found.start() for found in place.finditer(text)} for place in (_MAY_BEGIN, _MAY_END))
    return "".join(
        (_ENDS if at in ends else "") + (_BEGINS if at in begins else "") + text[at : at + 1]
        for at in range(len(text) + 1)
    )


def _look(text: str) -> str:
    """What a text looks like, word by word; blanks beside a sign are none."""
    words = " ".join(fold_look(word) for word in _plain(text).split())
    return re.sub(r" ?([@.]) ?(?=\w)", r"\1", words)


def _plain(text: str) -> str:
    while (read := unescape(unquote(text))) != text:
        text = read
    letters = unicodedata.normalize("NFKC", text).replace('"', "")
    return "".join(char for char in letters if unicodedata.category(char) != "Cf").casefold()
