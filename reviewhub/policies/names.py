"""Names of tools as rules see them: globs, a strict folding, and what is odd about a name.

Two ways to match, because a rule that lets something through and a rule that holds something back err in
opposite directions. `matches_exactly` compares code points: two different names never share a rule that
lets calls run. `matches_folded` ignores case, compatibility forms, accents, invisible characters and
look-alike letters: nobody slips past a rule that holds or denies by spelling a name another way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

# Capitals stand beside small letters because case decides: a Greek Ν looks like N, its small ν like v. The
# list need not be complete: a name that is not exactly a registered tool is unknown, and waits for a person
# anyway.
_LOOK_ALIKES = {
    "a": "АаΑαɑᴀ", "b": "ВвЬьΒβʙ", "c": "СсϹϲᴄ", "d": "ԁᴅđĐ", "e": "ЕеЄєΕεᴇ", "f": "ƒꜰϝ", "g": "ɡցɢԌ", "h": "НнҺһΗհʜħĦ",
    "i": "ІіΙιıɩɪ", "j": "Јјϳȷᴊ", "k": "КкΚκᴋ", "l": "łŁʟӀӏǀƖ", "m": "МмΜᴍ", "n": "ΝηոɴՈ", "o": "ОоΟοσօՕᴏøØ",
    "p": "РрΡρᴘ", "q": "Ԛԛ", "r": "ʀᴦ", "s": "ЅѕՍꜱ", "t": "ТтΤτᴛ", "u": "սυᴜ", "v": "νѵѴᴠ", "w": "Ԝԝωᴡ",
    "x": "ХхΧχ", "y": "УуҮүΥγʏ", "z": "Ζᴢ",
    "-": "‐‑‒–—―−⁃", ".": "·•‧∙⋅。", "_": "‿", "/": "⁄∕", ":": "∶ː",
}  # fmt: skip
_LATIN_FOR = str.maketrans({odd: latin for latin, all_ in _LOOK_ALIKES.items() for odd in all_})
_MOST_REMEMBERED = 5000
_AT_A_GLANCE = str.maketrans("01i|", "olll")
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Scripts whose names hold Latin words all the time; a word of Latin and any other letters is one that deceives.
_WRITTEN_WITH_LATIN = ("LATIN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "BOPOMOFO")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_WILDCARDS = "*?"
_BLANKS = dict.fromkeys([*range(0x21), 0x7F])


Kind = Literal["invisible", "look-alike", "mixed-script"]


@dataclass(frozen=True)
class Oddity:
    """A character in a name that people cannot see, or take for another one."""

    position: int
    character: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.kind} character U+{ord(self.character):04X}"


def oddities(name: str) -> tuple[Oddity, ...]:
    """What people would not see in `name`, or take for something else; empty for honest names in any script.

    A look-alike letter counts where it passes for another script: in a word with Latin letters, or in a
    word that reads as Latin from end to end. In a word with Latin letters any letter or digit of another script counts:
    no list holds every look-alike.
    """
    if name.isascii() and name.isprintable() and " " not in name:
        return ()
    words = [(match.start(), match[0]) for match in re.finditer(r"[^\W_]+", name)]
    posing = {start + offset for start, word in words if _poses(word) for offset in range(len(word))}
    mixed = {start + at for start, word in words if _has_latin(word) for at in range(len(word))}
    lettered = {start + offset for start, word in words for offset in range(len(word))}
    # Accents that make no letter with what stands before them, as they do in café: a line under an s passes for _.
    loose = {char for char in unicodedata.normalize("NFC", name) if _is_accent(char)}
    found: list[Oddity] = []
    for position, char in enumerate(name):
        kind = _oddity(char)
        if kind is None and position in mixed and _is_foreign(char):
            kind = "mixed-script"
        if kind is None and char in loose:
            kind = "look-alike"
        if kind == "invisible" or (kind and (position in posing or position not in lettered)):
            found.append(Oddity(position, char, kind))
    return tuple(found)


def is_plain(name: str) -> bool:
    """Whether `name` is printable ASCII without spaces and wildcards: what a glob may let through."""
    return bool(name) and all("!" <= char <= "~" and char not in _WILDCARDS for char in name)


def matches_exactly(pattern: str, name: str) -> bool:
    """Whether `pattern` covers `name` code point by code point; with wildcards it covers plain names only."""
    if pattern == name:
        return True
    return has_wildcard(pattern) and is_plain(name) and covers(pattern, name)


def matches_folded(pattern: str, name: str) -> bool:
    """Whether `pattern` covers `name`, or anything that reads like it, or is spelled so in another case."""
    return covers_folded(pattern, name)


def has_wildcard(pattern: str) -> bool:
    """Whether `pattern` is more than one name."""
    return any(char in _WILDCARDS for char in pattern)


@lru_cache(maxsize=4096)
def fold_case(name: str) -> str:
    """`name` without case, invisible characters and compatibility forms."""
    return _settled(_fold_case_once, name)


@lru_cache(maxsize=4096)
def fold_look(name: str) -> str:
    """What `name` looks like: without accents too, and with Latin letters for their look-alikes.

    Not a refinement of `fold_case`: a capital Greek Ν looks like N, its small letter like v. So both are
    compared.
    """
    return _settled(_fold_look_once, name)


def covers_folded(pattern: str, subject: str) -> bool:
    """As `covers`, for both foldings of both sides; `subject` may be a glob too."""
    (wide, other_wide), (narrow, other_narrow) = foldings(pattern), foldings(subject)
    if covers(wide, narrow):
        return True
    # Of plain ASCII both foldings are the same.
    return (wide, narrow) != (other_wide, other_narrow) and covers(other_wide, other_narrow)


@lru_cache(maxsize=4096)
def foldings(pattern: str) -> tuple[str, str]:
    """A glob, or a name, in both foldings, its wildcards kept: what `covers_folded` compares."""
    return _fold_around_wildcards(pattern, fold_case), _fold_around_wildcards(pattern, fold_look)


def covers(pattern: str, subject: str) -> bool:
    """Whether every name that `subject` (a name or a glob) stands for is one that `pattern` stands for.

    `*` is any text, also none, `?` one character. With a glob as subject a yes is certain, a no may be a yes that
    needs cleverness.
    """
    first, *others = pattern.split("*")
    if not others:
        return len(subject) == len(first) and _stands_at(first, subject, 0)
    last = others.pop()
    here, end = len(first), len(subject) - len(last)
    if here > end or not _stands_at(last, subject, end) or not _stands_at(first, subject, 0):
        return False
    for piece in others:
        # Where it stands first leaves the most to those after it.
        if (found := _find(piece, subject, here, end)) < 0:
            return False
        here = found + len(piece)
    return True


def reads_like(name: str, other: str) -> bool:
    """Whether two names are the same for somebody who reads them; no wildcards."""
    return fold_case(name) == fold_case(other) or fold_look(name) == fold_look(other)


def taken_for(name: str) -> str:
    """What quick reading makes of `name`: two names that share it are easily taken for each other, in plain ASCII too
    (`fi1es` and `files`, `rn` and `m`, `0` and `O`)."""
    folded = fold_look(name).translate(_AT_A_GLANCE)
    return folded.replace("rn", "m").replace("vv", "w")


def _settled(fold: Callable[[str], str], text: str) -> str:
    """`fold` until nothing changes: what one step takes away can bring neighbours together that fold again."""
    while (folded := fold(text)) != text:
        text = folded
    return text


def _fold_case_once(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text.translate(_VISIBLE)


def _fold_look_once(text: str) -> str:
    text = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFKC", text.translate(_BARE_LETTERS).casefold())


# What stands between two `*` of a pattern is a piece; a `?` in it stands for one character. Most names are ruled out by
# what is written in a piece, so an expression for its `?` is made only when one is needed: a new name of a tool is held
# against all patterns of a policy at once.


def _stands_at(piece: str, subject: str, at: int) -> bool:
    """Whether a piece stands there in the subject."""
    if "?" not in piece:
        return subject.startswith(piece, at)
    if _is_open(piece):
        return "*" not in subject[at : at + len(piece)]
    return bool(_expression(piece).match(subject, at))


def _find(piece: str, subject: str, start: int, end: int) -> int:
    """Where a piece stands first between these positions; -1 for nowhere."""
    if "?" not in piece:
        return subject.find(piece, start, end)
    if _is_open(piece) and "*" not in subject:
        return start if start + len(piece) <= end else -1
    if not all(part in subject for part in piece.split("?")):
        return -1
    found = _expression(piece).search(subject, start, end)
    return found.start() if found else -1


def _is_open(piece: str) -> bool:
    return piece.count("?") == len(piece)


@lru_cache(maxsize=4096)
def _expression(piece: str) -> re.Pattern[str]:
    # A `*` in a subject is one of a glob: only a `*` stands for it.
    return re.compile(re.escape(piece).replace(r"\?", "[^*]"))


def _fold_around_wildcards(pattern: str, folding: Callable[[str], str]) -> str:
    """`pattern` with its text folded and its wildcards kept; a `＊` must not become a wildcard by folding."""
    if pattern.isascii():
        # Of these nothing but case, blanks and controls is folded, and a policy may hold thousands of pieces.
        return pattern.lower().translate(_BLANKS)
    pieces = re.split(r"([*?])", pattern)
    return "".join(
        piece if piece in ("*", "?") else re.sub(r"[*?]", "\ufffd", folding(piece)) for piece in pieces
    )


def _poses(word: str) -> bool:
    return any(char.isascii() for char in word) or fold_look(word).isascii()


def _has_latin(word: str) -> bool:
    return any(char.isascii() and char.isalpha() for char in word)


def _is_foreign(char: str) -> bool:
    return not char.isascii() and not unicodedata.name(char, "").startswith(_WRITTEN_WITH_LATIN)


def _oddity(char: str) -> Kind | None:
    if _is_invisible(char):
        return "invisible"
    is_mark = not char.isascii() and unicodedata.category(char).startswith("P")
    is_drawn = unicodedata.category(char) == "So" and " LETTER " in unicodedata.name(char, "")
    if is_mark or is_drawn or ord(char) in _LATIN_FOR or unicodedata.normalize("NFKC", char) != char:
        return "look-alike"
    return None


def _is_accent(char: str) -> bool:
    """Whether it only stands over, under or around a letter; vowel signs of other scripts are letters of theirs."""
    return unicodedata.category(char) in ("Mn", "Me") and unicodedata.name(char, "").startswith("COMBINING")


def _is_invisible(char: str) -> bool:
    is_variation = (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or "\u180b" <= char <= "\u180f"
    )
    return is_variation or char in _INVISIBLE or unicodedata.category(char) in _INVISIBLE_CATEGORIES


class _Folding(dict[int, int | str | None]):
    """What becomes of each character, as `str.translate` asks for it: found once, since the texts are the agents'."""

    def __init__(self, fold: Callable[[str], int | str | None]) -> None:
        super().__init__()
        self._fold = fold

    def __missing__(self, code: int) -> int | str | None:
        found = self._fold(chr(code))
        if len(self) < _MOST_REMEMBERED:
            self[code] = found
        return found


def _bare_letter(char: str) -> int | str | None:
    return None if _is_invisible(char) or _is_accent(char) else _LATIN_FOR.get(ord(char), ord(char))


_VISIBLE = _Folding(lambda char: None if _is_invisible(char) else ord(char))
_BARE_LETTERS = _Folding(_bare_letter)
