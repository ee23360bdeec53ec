"""The values canonical JSON is made of, and how a fault in them is named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias, TypedDict

MAX_NUMBER_CHARS: Final = 1000
"""Longest number literal. Python itself refuses to convert integers of more than 4300 digits."""
MAX_EXPONENT: Final = 999
"""Largest exponent either way. Beyond it a few bytes of input can cost seconds of arithmetic later."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")


class Number:
    """A JSON number that keeps its literal. Two are equal when they are written the same.

    Deliberately no `str`, `int` or `float`: whoever forgets `to_python` gets an error, not another value.
    """

    __slots__ = ("literal",)
    literal: str

    def __init__(self, literal: str) -> None:
        """`literal` as JSON writes it. Raises ValueError when it is none, or too long, or its exponent is."""
        match = NUMBER.fullmatch(literal)
        if match is None:
            raise ValueError("This is not a JSON number.")
        if len(literal) > MAX_NUMBER_CHARS:
            raise ValueError(f"The number has {len(literal)} characters; the limit is {MAX_NUMBER_CHARS}.")
        exponent = match[1]
        # Compared by length first: int() of a very long exponent would be the very cost this limit avoids.
        if exponent is not None and (len(exponent) > 20 or abs(int(exponent)) > MAX_EXPONENT):
            raise ValueError(
                f"The number's exponent is {exponent[:20]}; the limit is {MAX_EXPONENT} either way."
            )
        _set_literal(self, literal)

    @classmethod
    def trusted(cls, literal: str) -> Number:
        """A Number from a literal that a JSON scanner has just recognised and whose size was checked."""
        number = cls.__new__(cls)
        _set_literal(number, literal)
        return number

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A Number does not change.")

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return (Number, (self.literal,))

    def __eq__(self, other: object) -> bool:
        return type(other) is Number and self.literal == other.literal

    def __hash__(self) -> int:
        return hash((Number, self.literal))

    def __str__(self) -> str:
        return self.literal

    def __repr__(self) -> str:
        return f"Number({self.literal!r})"

    @property
    def is_integer(self) -> bool:
        """Whether it is written as an integer: ``100`` is, ``1E2`` and ``100.0`` are not."""
        return self.literal.lstrip("-").isdecimal()

    def to_python(self) -> int | Decimal:
        """An int for an integer literal, else a Decimal with every digit."""
        return int(self.literal) if self.is_integer else Decimal(self.literal)


_set_literal = Number.literal.__set__  # type: ignore[attr-defined,misc]  # the slot itself, past __setattr__

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | bool | Number | None"
"""A parsed JSON value."""


class Fault(TypedDict):
    """One thing wrong with an input: where (JSON pointer), a stable code, a sentence for people."""

    path: str
    code: str
    message: str


class BadJson(ValueError):
    """The JSON was refused; `errors` says where and why, most telling first."""

    def __init__(self, errors: Iterable[Fault]) -> None:
        """`errors` holds at least one fault."""
        self.errors: list[Fault] = list(errors)
        first = self.errors[0]
        super().__init__(f"{first['path'] or 'the whole value'}: {first['message']}")

    @property
    def code(self) -> str:
        """The first fault's: invalid_json, too_deep, duplicate_key, not_a_number, too_large or invalid."""
        return self.errors[0]["code"]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.errors,))


class Unsafe(NamedTuple):
    """A character that no store and no surface may be asked to keep."""

    name: str
    at: int


_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SEGMENT_CHARS: Final = 80
_PATH_CHARS: Final = 500


def unsafe(text: str) -> Unsafe | None:
    """The first U+0000 or lone surrogate in `text`, or None."""
    match = _UNSAFE.search(text)
    return None if match is None else Unsafe(f"U+{ord(match[0]):04X}", match.start())


def is_safe(text: str) -> bool:
    """Whether `text` has no such character. Encoding a long text takes a tenth of the time of a search in it."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def storable(text: str) -> str:
    """`text` with U+FFFD for every U+0000 and lone surrogate: for showing what was refused."""
    return _UNSAFE.sub("\ufffd", text)


def unsafe_message(found: Unsafe, *, what: str) -> str:
    """The sentence for a refused character in `what` ("text" or "key")."""
    kind = "the character" if found.name == "U+0000" else "the lone surrogate"
    return f"The {what} holds {kind} {found.name} at position {found.at}, which cannot be stored."


def pointer(keys: Sequence[str | int]) -> str:
    """The JSON pointer of `keys`, safe to send and print: hostile characters escaped, long keys shortened."""
    path = "".join(f"/{_segment(key)}" for key in keys)
    return path if len(path) <= _PATH_CHARS else path[:_PATH_CHARS] + "…"


def _segment(key: str | int) -> str:
    if isinstance(key, int):
        return str(key)
    short = key if len(key) <= _SEGMENT_CHARS else key[:_SEGMENT_CHARS] + "…"
    escaped = short.replace("~", "~0").replace("/", "~1")
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
