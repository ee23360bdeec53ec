"""One control of a form for JSON values: what it shows, and the value that it means when it comes back.

A field that comes back as it was shown is no change, so values that nobody touched keep their bytes; numbers travel as
the text of their literal and never through a float.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.core.display import segments
from reviewhub.core.display.segments import Segment
from reviewhub.core.limits import parse_sent

LONG = 80  # characters from which a text gets a box of several lines


@dataclass(frozen=True)
class Field:
    """One value that can be edited. `control` is text, long, number, choice, switch, json, or locked.

    A locked one has no control: a secret, or (`is_ruled`) a value that the rule which holds the call keeps as it is.
    """

    path: str
    name: tuple[Segment, ...]
    key: str
    control: str
    value: str
    shown: str = ""
    describes: str = ""
    options: list[str] = field(default_factory=list)
    is_present: bool = True
    error: str = ""
    was: tuple[Segment, ...] = ()
    is_ruled: bool = False
    item: str = ""
    """The list item that begins with this field, as a JSON pointer, where it can be taken out."""
    is_out: bool = False
    """Whether that item is to be taken out."""
    adds: bool = False
    """Whether this is no value of the call, and what is written here becomes one more item of its list."""

    @property
    def is_changed(self) -> bool:
        """Whether the form holds something else than the call."""
        return bool(self.was) or bool(self.error) or self.is_out

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Each option as JSON, and as people read it: a text without quotes where that can mean nothing else."""
        return [(option, _bare(option)) for option in self.options]

    @property
    def textarea(self) -> str:
        """The value as the content of a textarea: HTML drops the first line break, so that of the value is kept."""
        return f"\n{self.value}"

    @property
    def item_name(self) -> tuple[Segment, ...]:
        """The item that begins here, as people call it: `items/2`."""
        parts = (part.replace("~1", "/").replace("~0", "~") for part in self.item.split("/")[1:])
        return segments.split("/".join(parts), mask=False)

    @property
    def locked_words(self) -> tuple[Segment, ...]:
        """What stands in the place of a control that the rule does not leave open."""
        return segments.split(self.shown)


def escaped(text: str) -> str:
    """JSON text with every hidden or look-alike character as its escape, so that a form control can show it.

    A text box draws bidi controls; the escape is the same JSON value and moves nothing.
    """
    if text.isascii():
        return text
    return "".join(
        _escape(piece.source) if piece.kind in ("control", "foreign") else piece.source
        for piece in segments.split(text, mask=False)
    )


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def is_same(given: str, one: Field) -> bool:
    """Whether the browser sent back what it was shown; it writes every line break as CR LF."""
    return given.replace("\r\n", "\n").replace("\r", "\n") == one.value.replace("\r\n", "\n").replace(
        "\r", "\n"
    )


def value_in(given: str, one: Field) -> Tree:
    """The value that a control of a form means. Raises ValueError with a sentence for what is none."""
    if one.control == "number":
        try:
            return Number(given.strip())
        except ValueError as error:
            raise ValueError("Write a number, such as 12.50.") from error
    if one.control == "switch":
        return given == "true"
    if one.control in ("json", "choice"):
        try:
            return parse_sent(given)
        except canonical.BadJson as error:
            raise ValueError(f"This is not JSON: {error.errors[0]['message']}") from error
    return given


def survives(text: str) -> bool:
    """Whether a browser's form control gives this text back as it is and shows all of it."""
    return all(piece.kind not in ("control", "foreign") for piece in segments.split(text, mask=False))


def _bare(option: str) -> str:
    """What is inside of a JSON text that begins with a letter and is no other JSON value; else `option` itself."""
    inside = option[1:-1]
    is_word = option.startswith('"') and inside[:1].isalpha() and inside not in ("true", "false", "null")
    return inside if is_word and "\\" not in inside and inside == inside.strip() else option
