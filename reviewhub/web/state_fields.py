"""A form for values of a state, and the changes that it means. Values that nobody touched keep their bytes.

As in the form for a call's arguments, numbers travel as the text of their literal, secrets never reach a browser, and
a text that a control would alter is edited as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Number, Tree

from reviewhub.checkpoints.tree import State
from reviewhub.core.changes import segments as keys_of
from reviewhub.core.display import exact, segments
from reviewhub.core.display.arguments import Row
from reviewhub.core.limits import parse_sent
from reviewhub.web.field import LONG, Field, escaped, is_same, survives, value_in
from reviewhub.web.state_view import Look, Part, parsed, value_at

MOST_ROWS = 80
MOST_EDITED = 20_000
"""Characters of a text that a form still holds."""
OPS = ("set", "insert", "remove")


@dataclass(frozen=True)
class Group:
    """A part of the place that is shown: its fields, or that it has to be opened."""

    part: Part
    fields: tuple[Field, ...]


def groups(state: State, look: Look) -> list[Group]:
    """The fields of what `look` shows of `state`."""
    return [Group(part, tuple(_fields(state, part))) for part in look.parts]


def read(
    posted: Mapping[str, str], shown: list[Group], removed: frozenset[str]
) -> tuple[list[Tree], list[Group]]:
    """The changes that a posted form means, and its fields as they were filled in, with their errors.

    Args:
        posted: `f:<JSON pointer>` is what a field holds.
        removed: pointers of the values that shall go.
    """
    found: list[Tree] = []
    filled = [
        Group(group.part, tuple(_filled(posted, one, found, removed) for one in group.fields))
        for group in shown
    ]
    # From the last one on: what is taken out of a list moves what comes after it.
    gone = [one.path for group in shown for one in group.fields if one.path in removed]
    gone += [group.part.path for group in shown if group.part.path in removed and not group.fields]
    found.extend({"op": "remove", "path": path} for path in reversed(gone))
    return found, filled


def first_field(shown: list[Group]) -> str | None:
    """The path of the field to begin with: the first that is wrong, else the first that can be changed; or None."""
    ready = [one for group in shown for one in group.fields if one.control != "locked"]
    return next((one.path for one in [*(one for one in ready if one.error), *ready]), None)


def by_path(posted: Mapping[str, str]) -> list[Tree]:
    """The one change that is written out: what to do, where, with which value. Raises ValueError with a sentence."""
    path = posted.get("at", "").strip()
    if not path:
        if posted.get("value", "").strip():
            raise ValueError("Say where the value belongs: a path such as /order/amount.")
        return []
    keys_of(path)
    op = posted.get("op", "set")
    if op not in OPS:
        raise ValueError("A change sets, inserts or removes.")
    if op == "remove":
        return [{"op": op, "path": path}]
    text = posted.get("value", "").replace("\r\n", "\n")
    if posted.get("as") == "text":
        return [{"op": op, "path": path, "value": text}]
    try:
        return [{"op": op, "path": path, "value": parse_sent(text)}]
    except canonical.BadJson as error:
        raise ValueError(f"The value is not JSON: {error.errors[0]['message']}") from error


def _filled(posted: Mapping[str, str], one: Field, found: list[Tree], removed: frozenset[str]) -> Field:
    given = posted.get(f"f:{one.path}")
    if one.path in removed or one.control == "locked" or given is None or is_same(given, one):
        return one
    given = given.replace("\r\n", "\n")
    error = ""
    try:
        found.append({"op": "set", "path": one.path, "value": value_in(given, one)})
    except ValueError as problem:
        error = str(problem)
    return replace(one, value=given, error=error, was=segments.split(one.value))


def _fields(state: State, part: Part) -> list[Field]:
    if not part.rows:
        return []
    text = value_at(state, part.path)
    assert text is not None
    tree, depth = parsed(text), len(keys_of(part.path))
    return [_field(row, _inside(tree, keys_of(row.path)[depth:])) for row in part.rows]


def _inside(tree: Tree, keys: list[str]) -> Tree:
    for key in keys:
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]  # type: ignore[index]
    return tree


def _field(row: Row, value: Tree) -> Field:
    said = Field(row.path, row.name, "", "json", escaped(canonical.dumps(value)), describes=row.type)
    if row.secret:
        return replace(said, control="locked", value="", shown="••••••••")
    if len(said.value) > MOST_EDITED:
        return replace(said, control="locked", value="", shown=f"{len(said.value):,} characters")
    if isinstance(value, bool):
        return replace(said, control="choice", options=["true", "false"])
    if isinstance(value, Number):
        return replace(said, control="number", value=value.literal)
    if isinstance(value, str):
        if not survives(value):
            return replace(said, describes="text, as JSON: it holds hidden or look-alike characters")
        return replace(said, control="long" if len(value) > LONG or "\n" in value else "text", value=value)
    return said if exact.shown(value) is None else replace(said, describes=f"{row.type}, as it is stored")
