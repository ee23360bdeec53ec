"""The sentence people read first: made by the server from a tool's template and the call's arguments.

A template is plain text with placeholders: ``Refund ${amount:money} to order {order_id}``. A placeholder is a
dotted path (``customer.name``, ``items.0.sku``), optionally with a format: ``money`` and ``number`` put
separators into a number's digits, ``count`` says how many items. ``{{`` and ``}}`` are braces. A sentence
never fails: what is missing is said in its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from reviewhub_agents import canonical

from reviewhub.core.display import secrets, segments
from reviewhub.core.display.masking import masked
from reviewhub.core.display.segments import Segment

VALUE_CHARACTERS = 80
SENTENCE_CHARACTERS = 300
DEFAULT_ARGUMENTS = 3
NAME_CHARACTERS = 40
DEFAULT_LEAD = "Call "
DEFAULT_WITH = " with "

_TOKENS = re.compile(r"\{\{|\}\}|\{([^{}:]{1,200})(?::([a-z]+))?\}")
_FORMATS = {"", "money", "number", "count"}
_NAMES = re.compile(r"(?:^|_)(?:id|number|no|name|email)$|(?<=[a-z])(?:Id|ID|Number|Name)$")
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the sentence; `strong` for the values that matter. The text is masked, but still hostile."""

    text: str
    strong: bool = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The part in pieces for a page. One space at an edge of the sentence's own words joins it to its neighbour."""
        if self.strong:
            return segments.split(self.text)
        lead, tail = self.text[:1] == " ", self.text[1:][-1:] == " "
        inside = self.text[lead : len(self.text) - tail]
        space = segments.Segment("text", " ", source=" ")
        return (*[space] * lead, *segments.split(inside), *[space] * tail)


def sentence(*, tool: str, arguments_text: str, template: str = "", schema: str = "") -> tuple[Part, ...]:
    """The parts for one call; from the tool's name and first arguments when there is no template.

    It is read in lists, mails and the record, so it says no secret; `schema` is that of the arguments.
    """
    return sentence_of(tool=tool, masked=masked(arguments_text, schema), template=template)


def sentence_of(*, tool: str, masked: canonical.Tree, template: str = "") -> tuple[Part, ...]:
    """As `sentence`, for arguments whose secrets are masked already."""
    return _limited(_filled(template, masked) if template.strip() else _default(tool, masked))


def plain(parts: tuple[Part, ...]) -> str:
    """The sentence as one line of text without any control character, for titles, mails and events."""
    return segments.plain(tuple(piece for part in parts for piece in part.segments))


def pack(parts: tuple[Part, ...]) -> str:
    """The parts as a short JSON text, to be stored beside a request so that a list loads no arguments."""
    return json.dumps(
        [[part.text, int(part.strong)] for part in parts], ensure_ascii=False, separators=(",", ":")
    )


def unpack(text: str) -> tuple[Part, ...]:
    """The parts from what `pack` made; a text that is none of it becomes one plain part."""
    try:
        return tuple(Part(str(item), bool(strong)) for item, strong in json.loads(text))
    except (ValueError, TypeError):
        return (Part(text),)


def brief(parts: tuple[Part, ...], *, tool: str) -> tuple[Part, ...] | None:
    """A sentence that was made without a template, for a list: the tool (a long name clipped), then its arguments.

    None for any other sentence.
    """
    if parts[:2] != (Part(DEFAULT_LEAD), Part(tool, strong=True)) or len(parts) < 3:
        return None
    first = parts[2].text.removeprefix(DEFAULT_WITH)
    lead = Part(f": {first}") if first != parts[2].text else parts[2]
    return (Part(_clipped(tool), strong=True), lead, *parts[3:])


def faults(template: str) -> list[str]:
    """What is wrong with a template, in words; empty when it can be used."""
    found = [
        f"The format “{form}” is unknown." for _, form in _TOKENS.findall(template) if form not in _FORMATS
    ]
    if re.search(r"[{}]", _TOKENS.sub("", template)):
        found.append("A brace is not closed. Write {{ for a brace in the text.")
    if len(template) > SENTENCE_CHARACTERS:
        found.append(f"The sentence has {len(template)} characters; the limit is {SENTENCE_CHARACTERS}.")
    return found


def placeholders(template: str) -> list[str]:
    """The dotted paths that a template names, in their order."""
    return [path.strip() for path, _ in _TOKENS.findall(template) if path]


def _filled(template: str, tree: canonical.Tree) -> list[Part]:
    parts: list[Part] = []
    at = 0
    for match in _TOKENS.finditer(template):
        parts.append(Part(template[at : match.start()]))
        at = match.end()
        if match.group() in ("{{", "}}"):
            parts.append(Part(match.group()[0]))
        else:
            parts.append(_value(tree, match.group(1).strip(), match.group(2) or ""))
    parts.append(Part(template[at:]))
    return _joined(parts)


def _joined(parts: list[Part]) -> list[Part]:
    """A currency sign belongs to its number: `$` before a strong value becomes strong with it."""
    done: list[Part] = []
    for part in parts:
        if not part.text:
            continue
        if part.strong and done and not done[-1].strong and done[-1].text[-1] in "$€£¥":
            sign, before = done[-1].text[-1], done.pop().text[:-1]
            if before:
                done.append(Part(before))
            part = Part(sign + part.text, strong=True)
        done.append(part)
    return done


def _value(tree: canonical.Tree, path: str, form: str) -> Part:
    here: canonical.Tree = tree
    for key in path.split("."):
        if isinstance(here, dict) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdecimal() and len(key) < 9 and int(key) < len(here):
            here = here[int(key)]
        else:
            return Part(f"(no {path})", strong=True)
        if secrets.is_secret_key(key):
            return Part(secrets.DOT * 8, strong=True)
    return Part(_shown(here, form), strong=True)


def _shown(value: canonical.Tree, form: str) -> str:
    if isinstance(value, (dict, list)):
        many = len(value)
        return str(many) if form == "count" else f"{many} {'item' if many == 1 else 'items'}"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value.literal if isinstance(value, canonical.Number) else value
    if form in ("money", "number") and _DIGITS.fullmatch(text):
        return _separated(text)
    if not text.strip():
        return "(empty)" if not text else "(only spaces)"
    text = secrets.masked(text)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"


def _separated(digits: str) -> str:
    """1240.00 → 1,240.00 without passing through a float."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, dot, rest = digits.partition(".")
    groups = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
    return f"{sign}{','.join(reversed(groups))}{dot}{rest}"


def _default(tool: str, tree: canonical.Tree) -> list[Part]:
    parts = [Part(DEFAULT_LEAD), Part(tool, strong=True)]
    if not isinstance(tree, dict) or not tree:
        return [*parts, Part(" without arguments")]
    told = sorted(tree, key=lambda key: _tells(key, tree[key]))[:DEFAULT_ARGUMENTS]
    shown = [key for key in tree if key in told]
    for index, key in enumerate(shown):
        parts.append(Part(f"{DEFAULT_WITH if index == 0 else ', '}{_clipped(key)} "))
        parts.append(
            Part(secrets.DOT * 8 if secrets.is_secret_key(key) else _shown(tree[key], ""), strong=True)
        )
    left = len(tree) - len(shown)
    return [*parts, Part(f" and {left} more")] if left else parts


def _tells(key: str, value: canonical.Tree) -> int:
    """How well an argument tells one call from the next, the best first: what names a thing, a value, a count."""
    if isinstance(value, (dict, list)) or secrets.is_secret_key(key):
        return 2
    return 0 if _NAMES.search(key) else 1


def _clipped(text: str) -> str:
    return text if len(text) <= NAME_CHARACTERS else f"{text[: NAME_CHARACTERS - 1]}…"


def _limited(parts: list[Part]) -> tuple[Part, ...]:
    done: list[Part] = []
    room = SENTENCE_CHARACTERS
    for part in parts:
        if len(part.text) > room:
            done.append(Part(f"{part.text[:room]}…", part.strong))
            break
        done.append(part)
        room -= len(part.text)
    return tuple(done)
