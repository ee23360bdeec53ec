"""Splits hostile text into typed pieces, so that a page can show every character as what it is.

Nothing is removed and nothing is reordered: the pieces' sources put together are the text again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from reviewhub.core.display import secrets

Kind = Literal["text", "control", "foreign", "secret", "spaces", "link"]

# Scripts with letters that look like Latin ones. Han, Kana and Hangul mix with Latin in honest words.
LOOKALIKE_SCRIPTS = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"}
# Letters of these scripts that a reader takes for Latin: a word of nothing else is suspicious as a whole.
LATIN_TWINS = frozenset("АВЕЅZІЈКМНОРСТУХаеіјорсухѕԁԛԝһӏүѵЬΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανρτυχικօսոհցքՏՕ")
# Latin letters made for phonetics that look like everyday ones.
LATIN_FAKES = frozenset("ɑɡɩʟʏ")
# Letters and marks that draw nothing at all, although Unicode does not call them format characters.
BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
LONG_RUN = 16  # spaces; a longer run is counted instead of drawn

NAMES = {
    "\u202a": "left-to-right embedding",
    "\u202b": "right-to-left embedding",
    "\u202c": "end of bidi embedding",
    "\u202d": "left-to-right override",
    "\u202e": "right-to-left override",
    "\u2066": "left-to-right isolate",
    "\u2067": "right-to-left isolate",
    "\u2068": "first strong isolate",
    "\u2069": "end of bidi isolate",
    "\ufeff": "byte order mark",
    "\r": "carriage return",
    "\x1b": "escape",
}

# All that is not everyday text: the text between the matches is taken as it is, so a megabyte stays cheap.
_SPECIAL = re.compile(
    r"(?P<link>(?:https?|ftp|file|javascript|data|wss?|mailto):[!-~]+|www\.[!-~]+)"
    r"|(?P<spaces> +(?=\n)| {2,}|\t+)"
    r"|(?P<other>[^\n -~]+)"
)
# What most names are, with nothing in it to look at piece by piece.
_EVERYDAY = re.compile(r"[A-Za-z0-9_/-]+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece: `text` is what to print, `note` says in words what it is, `source` is what was stored."""

    kind: Kind
    text: str
    note: str = ""
    source: str = ""


def split(text: str, *, mask: bool = True) -> tuple[Segment, ...]:
    """`text` as segments; values with secret-looking shapes are masked unless `mask` is False."""
    if not mask and _EVERYDAY.fullmatch(text):
        return (_text(text),)
    inside = text.strip(" ")
    if not inside:
        return (_spaces(text),) if text else ()
    lead = len(text) - len(text.lstrip(" "))
    tail = len(text) - lead - len(inside)
    found = [_spaces(text[:lead])] if lead else []
    at = 0
    for start, end in secrets.find(inside) if mask else ():
        found.extend(_pieces(inside[at:start]))
        found.append(secret(inside[start:end]))
        at = end
    found.extend(_pieces(inside[at:]))
    if tail:
        found.append(_spaces(text[-tail:]))
    return tuple(_merge(found))


def secret(text: str) -> Segment:
    """The whole of `text` as one masked piece."""
    shown = secrets.mask(text)
    tail = shown[-4:] if not shown.endswith(secrets.DOT) else ""
    return Segment("secret", shown, f"Secret, hidden, ends with {tail}" if tail else "Secret, hidden")


def plain(parts: tuple[Segment, ...]) -> str:
    """One line of text for mails, titles and exports: controls and look-alikes as their code points."""
    return "".join(_plain(part) for part in parts).replace("\n", " ").strip()


def written(parts: tuple[Segment, ...]) -> str:
    """The pieces as text with its line breaks; controls and look-alikes as nothing but their code points.

    Alternating scripts in one text cost a browser seconds, so the look-alikes themselves are left out.
    """
    return "".join(
        f"[{code_point(part.source)}]" if part.kind == "foreign" else _plain(part) for part in parts
    )


def odd(parts: tuple[Segment, ...], *, begins: bool = True, ends: bool = True) -> list[str]:
    """What is strange about these pieces, in words, for the line under a value.

    Args:
        begins, ends: whether the value begins and ends here, or is a part cut out of a longer one.
    """
    if all(part.kind == "text" for part in parts):
        return []
    controls = [part for part in parts if part.kind == "control"]
    foreign = [part for part in parts if part.kind == "foreign"]
    said: list[str] = []
    if controls:
        kinds = ", ".join(dict.fromkeys(part.note for part in controls).keys())
        many = "1 hidden character" if len(controls) == 1 else f"{len(controls)} hidden characters"
        said.append(f"{many}: {_short(kinds)}. Shown as stored, never reordered.")
    if foreign:
        scripts = "; ".join(dict.fromkeys(part.note for part in foreign).keys())
        many = (
            "1 letter looks Latin and is not"
            if len(foreign) == 1
            else f"{len(foreign)} letters look Latin and are not"
        )
        said.append(f"{many}: {_short(scripts)}.")
    if any(part.kind == "spaces" and len(part.source) > LONG_RUN for part in parts):
        said.append("A long run of spaces.")
    elif any(part.kind == "spaces" and " " in part.source for part in _edges(parts, begins, ends)):
        said.append("Starts or ends with a space.")
    return said


def _edges(parts: tuple[Segment, ...], begins: bool, ends: bool) -> tuple[Segment, ...]:
    return (*(parts[:1] if begins else ()), *(parts[-1:] if ends else ()))


def hidden_in(text: str) -> int:
    """How many kinds of hidden characters `text` holds; cheap for megabytes."""
    return (
        0
        if text.isascii() and text.isprintable()
        else sum(1 for one in set(text) - {" ", "\n", "\t"} if _hidden(one))
    )


def says_something(text: str) -> bool:
    """Whether `text` has a letter, a digit or a sign that a reader can see: marks and white space say nothing."""
    return any(unicodedata.category(char)[0] in "LNS" and char not in BLANKS for char in text)


def _plain(part: Segment) -> str:
    if part.kind == "control":
        return f"[{part.text}]"
    if part.kind == "foreign":
        return f"{part.source}[{code_point(part.source)}]"
    if part.kind == "spaces":
        return " " if len(part.source) <= LONG_RUN else f" [{part.note}] "
    return part.text


def _short(words: str) -> str:
    return words if len(words) <= 120 else f"{words[:119]}…"


def code_point(character: str) -> str:
    """`U+202E` for one character."""
    return f"U+{ord(character):04X}"


def _pieces(text: str) -> Iterator[Segment]:
    foreign = _foreign(text) if not text.isascii() else frozenset()
    at = 0
    for match in _SPECIAL.finditer(text):
        if match.start() > at:
            yield _text(text[at : match.start()])
        at = match.end()
        found = match.group()
        if match.lastgroup == "link":
            yield Segment("link", found, "An address; not a link here", found)
        elif match.lastgroup == "spaces":
            yield _spaces(found)
        else:
            yield from _others(found, match.start(), foreign)
    if at < len(text):
        yield _text(text[at:])


def _others(run: str, start: int, foreign: frozenset[int]) -> Iterator[Segment]:
    """The pieces of a run of characters beyond printable ASCII."""
    hidden = {character for character in set(run) if _hidden(character)}
    if not hidden and not foreign:
        yield _text(run)
        return
    held = 0
    for at, character in enumerate(run):
        is_foreign = start + at in foreign
        if not is_foreign and character not in hidden:
            continue
        if at > held:
            yield _text(run[held:at])
        held = at + 1
        yield _foreign_letter(character) if is_foreign else _control(character)
    if held < len(run):
        yield _text(run[held:])


@lru_cache(maxsize=4096)
def _control(character: str) -> Segment:
    return Segment("control", code_point(character), _hidden(character), character)


@lru_cache(maxsize=4096)
def _foreign_letter(character: str) -> Segment:
    return Segment("foreign", character, _script_words(character), character)


def _text(found: str) -> Segment:
    return Segment("text", found, source=found)


def _merge(pieces: Iterable[Segment]) -> Iterator[Segment]:
    """Joins neighbouring text, so that a page has one node for it."""
    held: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            held.append(piece.text)
            continue
        if held:
            yield _text("".join(held))
            held.clear()
        yield piece
    if held:
        yield _text("".join(held))


def _spaces(found: str) -> Segment:
    what, sign = ("tab", "→") if found[0] == "\t" else ("space", "·")
    note = f"{len(found)} {what}{'s' if len(found) > 1 else ''}"
    return Segment("spaces", sign * len(found) if len(found) <= LONG_RUN else note, note, found)


@lru_cache(maxsize=4096)
def _hidden(character: str) -> str:
    """What an invisible character is called; empty for one that a reader can see."""
    if character in NAMES:
        return NAMES[character]
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Zl", "Zp", "Zs"} or character in BLANKS or _is_variation(character):
        return unicodedata.name(character, "control character").lower()
    if category == "Co":
        return "private use character"
    if category in {"Cn", "Cs"}:
        return "unassigned character"
    return ""


def _is_variation(character: str) -> bool:
    point = ord(character)
    return 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF or 0x180B <= point <= 0x180F


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """LATIN, CYRILLIC …; FORM for a letter that is a styled copy of plain ones; empty for no letter."""
    if not character.isalpha():
        return ""
    if character in LATIN_FAKES:
        return "FORM"
    folded = unicodedata.normalize("NFKC", character)
    if folded != character and folded.isascii():
        return "FORM"
    return unicodedata.name(character, "").split(" ")[0]


@lru_cache(maxsize=4096)
def _script_words(character: str) -> str:
    script = _script(character)
    if script == "FORM":
        return f"{code_point(character)}, a styled form of “{unicodedata.normalize('NFKC', character)}”"
    return f"{code_point(character)}, {script.capitalize()}"


def _foreign(text: str) -> frozenset[int]:
    """Positions of letters that pass for Latin: of another script inside a Latin word, or styled copies."""
    found: set[int] = set()
    real: set[str] = set()
    suspects: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if word.group().isascii():
            continue
        letters = set(word.group())
        scripts = {_script(letter) for letter in letters} - {""}
        if "FORM" in scripts:
            found.update(_positions(word, {"FORM"}))
        others = scripts & LOOKALIKE_SCRIPTS
        if not others:
            continue
        if "LATIN" in scripts or "FORM" in scripts or len(others) > 1:
            found.update(_positions(word, LOOKALIKE_SCRIPTS))
        elif all(letter in LATIN_TWINS for letter in letters if letter.isalpha()):
            suspects.append(word)
        else:
            real |= others
    for word in suspects:
        # A word of twins only is honest where the same script also shows letters that Latin lacks.
        if not ({_script(letter) for letter in word.group()} & real):
            found.update(_positions(word, LOOKALIKE_SCRIPTS))
    return frozenset(found)


def _positions(word: re.Match[str], scripts: set[str]) -> Iterator[int]:
    return (word.start() + at for at, letter in enumerate(word.group()) if _script(letter) in scripts)
