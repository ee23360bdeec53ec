"""Edits of arguments and states, as a list of changes: pure, on canonical texts.

A person who edits one value sends that one change, never the whole value: so numbers that a browser
would round and secrets that a page masks keep their bytes. Changes are applied in order, each to what the
one before left:

* `set` puts a value at a path: an existing list element or member, or a new member of an existing object;
* `insert` adds: a member that does not exist yet, or a list element before an index (`-` means at the end);
* `remove` takes away what is there.

Paths are JSON pointers (RFC 6901). The whole value cannot be replaced: a new tool call is not an edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from django.conf import settings
from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.core.comparing import compare
from reviewhub.core.errors import Invalid

Op = Literal["set", "insert", "remove"]
MAX_CHANGES = 1000
MAX_PATH_CHARS = 2000
MAX_PATH_DEPTH = 100
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_Container: TypeAlias = "dict[str, Tree] | list[Tree]"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One step of an edit. `value` is None for `remove`, and JSON null for the others."""

    op: Op
    path: str
    value: Tree = None

    def as_tree(self) -> dict[str, Tree]:
        """The JSON form, as `parse_changes` reads it."""
        tree: dict[str, Tree] = {"op": self.op, "path": self.path}
        return tree if self.op == "remove" else {**tree, "value": self.value}


def parse_changes(tree: Tree, *, at: str = "/changes") -> tuple[Change, ...]:
    """The changes in a parsed JSON list. Raises Invalid with paths below `at` for all that is not as it should be."""
    if not isinstance(tree, list):
        raise Invalid.at(at, "must be a list of changes")
    if len(tree) > MAX_CHANGES:
        raise Invalid.at(at, f"has {len(tree)} changes; the limit is {MAX_CHANGES}", "too_long")
    return tuple(_parse_change(item, f"{at}/{position}") for position, item in enumerate(tree))


def apply_changes(
    before: str,
    changes: Sequence[Change],
    *,
    at: str = "/changes",
    max_bytes: int = canonical.MAX_BYTES,
    max_values: int = canonical.MAX_VALUES,
) -> str:
    """The canonical text after `changes`; values that no change names keep their bytes.

    Raises:
        Invalid: at the path of the first change that does not fit what is there, or when the result is too
        large.
    """
    tree = canonical.reread(before)
    apply_in_place(tree, changes, at=at)
    text = canonical.dumps(tree)
    size = len(text.encode())
    if size > max_bytes:
        raise Invalid.at(at, f"make a value of {size} bytes; the limit is {max_bytes}", "too_large")
    try:
        canonical.parse(text, max_bytes=max_bytes, max_values=max_values, max_depth=settings.LIMIT_DEPTH)
    except canonical.BadJson as error:
        raise Invalid.at(at, f"make a value that is not acceptable: {error}", error.code) from error
    return text


def apply_in_place(tree: Tree, changes: Sequence[Change], *, at: str = "/changes") -> None:
    """Takes the steps on a parsed value itself. Whether what they make can be kept is for the caller to see.

    Raises:
        Invalid: at the path of the first change that does not fit what is there.
    """
    if len(changes) > MAX_CHANGES:
        raise Invalid.at(at, f"has {len(changes)} changes; the limit is {MAX_CHANGES}", "too_long")
    for position, change in enumerate(changes):
        _apply(tree, change, f"{at}/{position}")


def difference(old_text: str, new_text: str) -> list[Change]:
    """Changes that make `new_text` of `old_text`, few and readable; `apply_changes` undoes nothing else.

    Raises:
        ValueError: the two are not both objects, or not both lists, so no change can lead from one to the
        other.
    """
    old, new = canonical.reread(old_text), canonical.reread(new_text)
    return [Change(op=op, path=path, value=value) for op, path, value in compare(old, new)]


def segments(path: str) -> list[str]:
    """The unescaped parts of a JSON pointer. Raises ValueError with a sentence for what is none."""
    if len(path) > MAX_PATH_CHARS:
        raise ValueError(f"the path has {len(path)} characters; the limit is {MAX_PATH_CHARS}")
    if path and not path.startswith("/"):
        raise ValueError("a path starts with /")
    if _BAD_ESCAPE.search(path):
        raise ValueError("in a path ~ is written ~0 and / inside a name ~1")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    if len(parts) > MAX_PATH_DEPTH:
        raise ValueError(f"the path has {len(parts)} parts; the limit is {MAX_PATH_DEPTH}")
    return parts


def _parse_change(item: Tree, at: str) -> Change:
    if not isinstance(item, dict):
        raise Invalid.at(at, "must be an object with op, path and value")
    op, path = item.get("op"), item.get("path")
    if op not in ("set", "insert", "remove"):
        raise Invalid.at(f"{at}/op", "must be set, insert or remove")
    if not isinstance(path, str):
        raise Invalid.at(f"{at}/path", "must be a JSON pointer")
    expected = {"op", "path"} if op == "remove" else {"op", "path", "value"}
    if unknown := sorted(set(item) - expected):
        raise Invalid.at(f"{at}/{unknown[0][:80]}", f"does not belong to {op}", "unknown_field")
    if "value" in expected and "value" not in item:
        raise Invalid.at(f"{at}/value", f"{op} needs a value", "missing")
    return Change(op=cast(Op, op), path=path, value=item.get("value"))


def _apply(tree: Tree, change: Change, at: str) -> None:
    try:
        parts = segments(change.path)
    except ValueError as error:
        raise Invalid.at(f"{at}/path", str(error), "invalid_path") from error
    if not parts:
        raise Invalid.at(f"{at}/path", "the value as a whole cannot be changed", "root")
    parent = _container(tree, parts[:-1], change.path, at)
    if isinstance(parent, dict):
        _apply_to_object(parent, parts[-1], change, at)
    else:
        _apply_to_list(parent, parts[-1], change, at)


def _container(tree: Tree, parts: list[str], path: str, at: str) -> _Container:
    """What the last part of a path names a place in."""
    here: Tree = tree
    for part in parts:
        if isinstance(here, dict) and part in here:
            here = here[part]
        elif isinstance(here, list) and _INDEX.fullmatch(part) and int(part) < len(here):
            here = here[int(part)]
        else:
            raise _unknown(path, at)
    if not isinstance(here, dict | list):
        raise _unknown(path, at)
    return here


def _apply_to_object(parent: dict[str, Tree], name: str, change: Change, at: str) -> None:
    if change.op == "insert" and name in parent:
        raise Invalid.at(f"{at}/path", f"{change.path} exists already; set it", "exists")
    if change.op == "remove":
        if name not in parent:
            raise _unknown(change.path, at)
        del parent[name]
    else:
        parent[name] = _copy(change.value, at)


def _apply_to_list(parent: list[Tree], name: str, change: Change, at: str) -> None:
    if change.op == "insert" and name == "-":
        parent.append(_copy(change.value, at))
        return
    if not _INDEX.fullmatch(name):
        raise _unknown(change.path, at)
    index, last = int(name), len(parent) - (change.op != "insert")
    if index > last:
        raise Invalid.at(
            f"{at}/path", f"{change.path} is out of range: the list has {len(parent)}", "out_of_range"
        )
    if change.op == "insert":
        parent.insert(index, _copy(change.value, at))
    elif change.op == "set":
        parent[index] = _copy(change.value, at)
    else:
        del parent[index]


def _copy(value: Tree, at: str) -> Tree:
    """A value of its own: later changes may reach into it, and must not reach into the change."""
    try:
        return canonical.reread(canonical.dumps(value))
    except canonical.BadJson as error:
        fault = error.errors[0]
        raise Invalid.at(f"{at}/value{fault['path']}", fault["message"], fault["code"]) from error


def _unknown(path: str, at: str) -> Invalid:
    return Invalid.at(f"{at}/path", f"there is no {path}", "unknown_path")
