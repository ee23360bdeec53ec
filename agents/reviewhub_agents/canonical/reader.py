"""Reading raw JSON without losing or changing anything.

Two readers of one grammar. The standard library's scanner, with hooks, reads what is fine; whatever it
refuses or leaves in doubt is read again, slowly, by a reader that knows where it is: it names the path of
each fault, and its depth is a list and not the interpreter's stack. A test holds the two to the same answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json import decoder
from typing import Any, Final, NoReturn

from .values import NUMBER, BadJson, Fault, Number, Tree, pointer, unsafe, unsafe_message

MAX_BYTES: Final = 10_000_000
MAX_DEPTH: Final = 100
MAX_VALUES: Final = 250_000
_MAX_FAULTS: Final = 20
_SHORT: Final = 50
"""A number literal up to this length needs no look at its size by the fast reader, if it has no exponent."""

_scan_string: Final[Callable[[str, int], tuple[str, int]]] = decoder.scanstring  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"true|false|null|-?Infinity|NaN")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


def parse(
    raw: bytes | str,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
) -> Tree:
    """Read `raw` into a tree of dict, list, str, bool, None and `Number`.

    `max_bytes` counts UTF-8 bytes, `max_depth` nested arrays and objects, `max_values` every value, however
    nested.
    Raises `BadJson`; each fault has one of the codes invalid_json, too_deep, duplicate_key, not_a_number,
    too_large and invalid (lone surrogates, U+0000, not UTF-8, a byte order mark, a number of absurd size).
    """
    text, safe = _text(raw, max_bytes)
    # Commas and brackets bound the number of values from above: no million objects are made to be counted.
    if text.count(",") + text.count("[") + text.count("{") < max_values:
        try:
            tree: Tree = _SCANNER.decode(text)
            _check(tree, safe=safe, max_depth=max_depth)
        except (ValueError, RecursionError):
            pass  # The careful reader says what is wrong, or that nothing is.
        else:
            return tree
    return _Reader(text, safe, max_depth, max_values).read()


def _text(raw: bytes | str, max_bytes: int) -> tuple[str, bool]:
    """The text of `raw`, and whether it is certain already that no string in it holds a refused character."""
    size = len(raw)
    if isinstance(raw, str) and size <= max_bytes and not raw.isascii():
        size = len(raw.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise _refusal("too_large", f"The JSON has {size} bytes; the limit is {max_bytes}.")
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal("invalid", f"The JSON is not UTF-8: byte {error.start} is wrong.") from error
    if text.startswith("\ufeff"):
        raise _refusal("invalid", "The JSON starts with a byte order mark; send it without.")
    # Raw control characters are refused as syntax, so only an escape (or text never encoded) can smuggle one
    # in.
    return text, "\\u" not in text and (isinstance(raw, bytes) or text.isascii())


def _refusal(code: str, message: str) -> BadJson:
    return BadJson([Fault(path="", code=code, message=message)])


def _object(pairs: list[tuple[str, Tree]]) -> Tree:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _integer(literal: str) -> Number:
    return Number.trusted(literal) if len(literal) < _SHORT else Number(literal)


def _fraction(literal: str) -> Number:
    plain = len(literal) < _SHORT and "e" not in literal and "E" not in literal
    return Number.trusted(literal) if plain else Number(literal)


def _constant(word: str) -> NoReturn:
    raise ValueError(word)


_SCANNER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
)


def _check(tree: Tree, *, safe: bool, max_depth: int) -> None:
    """Raise ValueError when `tree` is too deep or, unless `safe`, holds a refused character."""
    level: list[Any] = [tree]
    depth = 0
    while level:
        if not safe and unsafe("".join(value for value in level if type(value) is str)):
            raise ValueError("a refused character")
        objects = [value for value in level if type(value) is dict]
        arrays = [value for value in level if type(value) is list]
        if (objects or arrays) and (depth := depth + 1) > max_depth:
            raise ValueError("too deep")
        if not safe and unsafe("".join(key for value in objects for key in value)):
            raise ValueError("a refused character")
        level = [item for value in objects for item in value.values()]
        level.extend(item for value in arrays for item in value)


class _Reader:
    """One careful pass over a text. Faults of content are collected; one of syntax, depth or size ends it."""

    def __init__(self, text: str, safe: bool, max_depth: int, max_values: int) -> None:
        self.text = text
        self.safe = safe
        self.max_depth = max_depth
        self.max_values = max_values
        self.pos = 0
        self.values = 0
        self.containers: list[dict[str, Tree] | list[Tree]] = []
        self.keys: list[str | int] = []
        self.names: dict[str, str] = {}
        self.faults: list[Fault] = []

    def read(self) -> Tree:
        """The whole text's value."""
        while True:
            value, opened = self._value()
            if opened:
                continue
            while self.containers:
                self._put(value)
                if self._another():
                    break
                self.keys.pop()
                value = self.containers.pop()
            else:
                self._end()
                return value

    def _value(self) -> tuple[Tree, bool]:
        """A scalar or an empty container; or, second part true, a container just opened."""
        self.values += 1
        if self.values > self.max_values:
            raise self._stop(
                "too_large", f"The JSON has more than {self.max_values} values, which is the limit."
            )
        char = self._peek()
        if char == '"':
            return self._string("text"), False
        if char == "{" or char == "[":
            return self._open(char)
        match = NUMBER.match(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
            return self._number(match[0]), False
        return self._word(), False

    def _open(self, char: str) -> tuple[Tree, bool]:
        if len(self.containers) >= self.max_depth:
            raise self._stop(
                "too_deep", f"The JSON is nested more than {self.max_depth} levels deep, which is the limit."
            )
        self.pos += 1
        container: dict[str, Tree] | list[Tree] = {} if char == "{" else []
        if self._peek() == ("}" if char == "{" else "]"):
            self.pos += 1
            return container, False
        self.containers.append(container)
        if char == "{":
            self.keys.append("")
            self._key()
        else:
            self.keys.append(0)
        return container, True

    def _put(self, value: Tree) -> None:
        container, key = self.containers[-1], self.keys[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[str(key)] = value

    def _another(self) -> bool:
        """After a value: over a comma (and the next key) and true, or over the closing bracket and false."""
        container, char = self.containers[-1], self._peek()
        if char == ",":
            self.pos += 1
            if isinstance(container, list):
                self.keys[-1] = len(container)
            else:
                self._key()
            return True
        if char == ("]" if isinstance(container, list) else "}"):
            self.pos += 1
            return False
        raise self._syntax("a comma or the closing bracket")

    def _key(self) -> None:
        if self._peek() != '"':
            self.keys.pop()
            raise self._syntax("a key in double quotes")
        key = self._string("key")
        # One object per distinct key: a list of ten thousand rows does not hold each key ten thousand times.
        key = self.keys[-1] = self.names.setdefault(key, key)
        if key in self.containers[-1]:
            self._fault("duplicate_key", "The key occurs twice in one object.")
        if self._peek() != ":":
            raise self._syntax("a colon after the key")
        self.pos += 1

    def _string(self, what: str) -> str:
        try:
            text, self.pos = _scan_string(self.text, self.pos + 1)
        except json.JSONDecodeError as error:
            raise self._stop("invalid_json", f"{error.msg} ({_place(self.text, error.pos)}).") from error
        if not self.safe and (found := unsafe(text)) is not None:
            if what == "key":
                self.keys[-1] = text
            self._fault("invalid", unsafe_message(found, what=what))
        return text

    def _number(self, literal: str) -> Tree:
        try:
            return Number(literal)
        except ValueError as error:
            self._fault("invalid", str(error))
            return None

    def _word(self) -> Tree:
        match = _WORD.match(self.text, self.pos)
        if match is None:
            raise self._syntax("a value")
        self.pos = match.end()
        if match[0] in _WORDS:
            return _WORDS[match[0]]
        self._fault("not_a_number", f"{match[0]} is not a JSON number.")
        return None

    def _end(self) -> None:
        if self._peek() != "":
            raise self._syntax("nothing after the value")
        if self.faults:
            raise BadJson(self.faults)

    def _peek(self) -> str:
        """The next character that is no white space, standing on it; "" at the end."""
        text, pos = self.text, self.pos
        char = text[pos : pos + 1]
        if char in " \t\n\r" and char:
            match = _SPACE.match(text, pos)
            assert match is not None
            self.pos = pos = match.end()
            char = text[pos : pos + 1]
        return char

    def _fault(self, code: str, message: str) -> None:
        self.faults.append(Fault(path=pointer(self.keys), code=code, message=message))
        if len(self.faults) >= _MAX_FAULTS:
            raise BadJson(self.faults)

    def _stop(self, code: str, message: str) -> BadJson:
        return BadJson([*self.faults, Fault(path=pointer(self.keys), code=code, message=message)])

    def _syntax(self, expected: str) -> BadJson:
        found = self.text[self.pos : self.pos + 1]
        seen = f"found {found!a}" if found else "the text ends"
        return self._stop("invalid_json", f"Expected {expected}, but {seen} ({_place(self.text, self.pos)}).")


def _place(text: str, pos: int) -> str:
    line = text.count("\n", 0, pos) + 1
    return f"line {line}, column {pos - text.rfind(chr(10), 0, pos)}"
