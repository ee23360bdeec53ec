"""YAML that says what JSON can say, and nothing more: read strictly with the line of every value, and written so.

YAML has many ways to be read otherwise than it looks: `no` is false in one version and a text in the next, `1_000` and
`010` are numbers of several kinds, anchors and tags make objects out of text. Here plain `true`, `false`, `null` and
the numbers of JSON mean themselves, every other plain text is a text, and anchors, tags and second documents are
refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

import yaml
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number

from reviewhub.core.errors import Invalid

MAX_DEPTH = 20
# libyaml where it is there: a file of the largest size is read in a moment.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_READ_OTHERWISE = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class Read:
    """A value, and the line, counted from 1, at which each part of it begins, by JSON pointer."""

    tree: Any
    lines: dict[str, int]

    def line_of(self, path: str) -> int:
        """The line of a part, or of what it is missing from."""
        while path not in self.lines and path:
            path = path.rpartition("/")[0]
        return self.lines.get(path, 1)


@dataclass
class _Open:
    """A list or an object that is being read."""

    path: str
    value: Any
    key: str | None = None
    at: int = field(default=0)


def read_yaml(text: str, *, max_bytes: int) -> Read:
    """The value in `text`.

    Raises:
        Invalid: it is no YAML, or says what JSON cannot; each error with its `line`.
    """
    if len(text.encode()) > max_bytes:
        raise _wrong(1, f"The file has more than {max_bytes} bytes.", code="too_large")
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _wrong(line, f"This is no YAML: {error.problem or error.context}.", code="bad_yaml") from error
    except yaml.YAMLError as error:
        raise _wrong(
            1, "This is no YAML: it holds a character that YAML does not take.", code="bad_yaml"
        ) from error
    return Read(reader.found, reader.lines)


class _Reader:
    """Takes one event of the parser after the other, and calls itself for none: depth costs no stack."""

    def __init__(self) -> None:
        self.found: Any = None
        self.lines: dict[str, int] = {}
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """One event. Raises Invalid."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _wrong(line, "There is a second document in the file.", code="bad_yaml")
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _wrong(line, "Anchors and aliases are not taken; write it out.", code="bad_yaml")
        elif getattr(event, "tag", None):
            raise _wrong(line, f"The tag {event.tag} is not taken.", code="bad_yaml")  # type: ignore[attr-defined]
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        inside = self._open[-1] if self._open else None
        if inside and isinstance(inside.value, dict) and inside.key is None:
            if event.value in inside.value:
                raise _wrong(line, f"{event.value!r} is said twice.", path=inside.path, code="duplicate")
            inside.key = event.value
            return
        self._put(_value(event) if event.implicit[0] else event.value, line)

    def _begin(self, value: Any, line: int) -> None:
        inside = self._open[-1] if self._open else None
        if inside and isinstance(inside.value, dict) and inside.key is None:
            raise _wrong(line, "A key has to be a text.", path=inside.path, code="bad_yaml")
        if len(self._open) >= MAX_DEPTH:
            raise _wrong(line, f"It is deeper than {MAX_DEPTH} levels.", code="too_deep")
        self._open.append(_Open(self._put(value, line), value))

    def _put(self, value: Any, line: int) -> str:
        """Puts a value where it belongs; its pointer."""
        if not self._open:
            self.found = value
            path = ""
        else:
            inside = self._open[-1]
            if isinstance(inside.value, dict):
                key = str(inside.key)
                inside.value[key], inside.key = value, None
            else:
                key = str(inside.at)
                inside.value.append(value)
                inside.at += 1
            path = inside.path + canonical.pointer([key])
        self.lines[path] = line
        return path


def _value(event: yaml.ScalarEvent) -> Any:
    """What a plain scalar means."""
    text = event.value
    if text in _WORDS:
        return _WORDS[text]
    return Number(text) if _NUMBER.fullmatch(text) else text


def _wrong(line: int, message: str, *, code: str, path: str = "") -> Invalid:
    return Invalid(message, errors=[{"path": path, "code": code, "message": message, "line": str(line)}])


def write_yaml(tree: Any) -> str:
    """`tree` as YAML that `read_yaml` reads back as the same. Characters that are not seen are written as escapes."""
    return "\n".join(_block(tree, 0)) + "\n"


def _block(tree: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(tree, dict) and tree:
        found = []
        for key, value in tree.items():
            if isinstance(value, dict | list) and value and not _is_flat(value):
                deeper = depth + 1 if isinstance(value, dict) else depth
                found += [f"{pad}{_text(key)}:", *_block(value, deeper)]
            else:
                found.append(f"{pad}{_text(key)}: {_flat(value)}")
        return found
    if isinstance(tree, list) and tree and not _is_flat(tree):
        found = []
        for one in tree:
            lines = _block(one, depth + 1)
            found += [f"{pad}- {lines[0].lstrip(' ')}", *lines[1:]]
        return found
    return [f"{pad}{_flat(tree)}"]


def _is_flat(value: Any) -> bool:
    """Whether it stands in one line: a list of values that hold none."""
    return isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    if isinstance(value, str):
        return _text(value)
    return "{}" if value == {} else canonical.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\' or char < " ":
        return json.dumps(char)[1:-1]
    if (char.isascii() and char != "\x7f") or unicodedata.category(char)[0] in "LMNPS":
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
