"""A state's exact values as people read them: `12.50` instead of the marked object that says it is a Decimal.

For states only. A tool call's arguments are shown as the JSON they are, for that is what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree
from reviewhub_agents.exact.values import MARK, is_marked, unescaped

_SINGLE = {
    "decimal": "decimal",
    "float": "number",
    "integer": "integer, hexadecimal",
    "text": "text with escapes",
    "uuid": "UUID",
    "date": "date",
    "time": "time",
    "duration": "duration",
    "datetime": "time",
}
_LISTS = {"tuple": "tuple", "set": "set", "frozenset": "set", "deque": "list", "complex": "complex number"}


@dataclass(frozen=True, slots=True)
class Shown:
    """One value as text, and its type in a word."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside another: the members that lead to it in the stored tree, its name after a slash."""

    keys: tuple[str | int, ...]
    name: str
    value: Tree
    key: str = ""


def below(key: str | int) -> str:
    """One step of a JSON pointer, exact (RFC 6901): `/amount`."""
    return f"/{str(key).replace('~', '~0').replace('/', '~1')}"


def shown(tree: Tree) -> Shown | None:
    """A marked single value as text; None for all else, and for a mark that is not as its type says."""
    if not isinstance(tree, dict) or not is_marked(tree):
        return None
    kind, value = tree.get(MARK), tree.get("value")
    if kind == "enum":
        return _enum(tree)
    if kind in ("bytes", "bytearray", "opaque") and isinstance(value, str):
        return _bytes(str(kind), value, tree)
    if isinstance(kind, str) and kind in _SINGLE and isinstance(value, str):
        return Shown(" ".join([value, *_words(tree, "zone", "name")]), _SINGLE[kind])
    if isinstance(kind, str) and kind in _LISTS and value == []:
        return Shown("( )" if kind == "tuple" else "{ }" if "set" in kind else "[ ]", f"empty {_LISTS[kind]}")
    return None


def members(tree: Tree) -> list[Part]:
    """What is inside a plain list or object; empty when nothing is."""
    if isinstance(tree, list):
        return [Part((at,), f"/{at}", item) for at, item in enumerate(tree)]
    if isinstance(tree, dict):
        return [Part((key,), below(key), item, key) for key, item in tree.items()]
    return []


def parts(tree: Tree) -> list[Part]:
    """What is inside a value of a state, by the names that the agent uses; of a mark nobody understands, as stored."""
    if not isinstance(tree, dict):
        return members(tree)
    if is_marked(tree):
        inside = _marked_parts(tree)
        return members(tree) if inside is None else inside
    return [Part((key,), below(unescaped(key)), item, unescaped(key)) for key, item in tree.items()]


def readable(tree: Tree) -> str:
    """`tree` in one line: an exact value as its text, anything else as JSON."""
    found = shown(tree)
    if found is not None:
        return found.text
    if isinstance(tree, dict) and tree.get(MARK) in ("tuple", "set", "frozenset"):
        start, end = ("(", ")") if tree[MARK] == "tuple" else ("{", "}")
        return f"{start}{', '.join(readable(part.value) for part in parts(tree))}{end}"
    return tree if isinstance(tree, str) else canonical.dumps(tree)


def word(tree: Tree) -> str:
    """`tree` where a word is expected: text, or the name of an enum member in small letters."""
    name = tree.get("name") if isinstance(tree, dict) and tree.get(MARK) == "enum" else None
    return name.lower() if isinstance(name, str) else readable(tree)


def _marked_parts(tree: dict[str, Tree]) -> list[Part] | None:
    kind, value = tree.get(MARK), tree.get("value")
    if isinstance(kind, str) and kind in _LISTS and isinstance(value, list):
        return [Part(("value", at), f"/{at}", item) for at, item in enumerate(value)]
    if kind == "object" and isinstance(value, dict) and not is_marked(value):
        return [Part(("value", key), below(unescaped(key)), item, key) for key, item in value.items()]
    if kind == "dict" and isinstance(value, list):
        return list(_pairs(value)) if all(isinstance(p, list) and len(p) == 2 for p in value) else None
    return None


def _pairs(value: list[Tree]) -> Iterator[Part]:
    for at, pair in enumerate(value):
        assert isinstance(pair, list)
        name = readable(pair[0])
        yield Part(("value", at, 1), below(name[:200]), pair[1], name)


def _enum(tree: dict[str, Tree]) -> Shown | None:
    kind, name, names = tree.get("type"), tree.get("name"), tree.get("names")
    if isinstance(names, list):
        name = " | ".join(one for one in names if isinstance(one, str)) or "none"
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    return Shown(f"{kind.rpartition('.')[2]}.{name}", f"enum {kind}")


def _bytes(kind: str, value: str, tree: dict[str, Tree]) -> Shown:
    padding = len(value) - len(value.rstrip("="))
    size = f"{max(0, len(value) // 4 * 3 - padding):,} bytes"
    if kind != "opaque":
        return Shown(f"{size}, base64 {value}" if value else size, "bytes")
    (media_type,) = _words(tree, "media_type") or ("unknown type",)
    digest = "".join(_words(tree, "sha256"))
    return Shown(f"{size} of {media_type}, SHA-256 {digest}", "opaque bytes")


def _words(tree: dict[str, Tree], *names: str) -> list[str]:
    found = [tree.get(name) for name in names]
    return [one.literal if isinstance(one, Number) else one for one in found if isinstance(one, str | Number)]
