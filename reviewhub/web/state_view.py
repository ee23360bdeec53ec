"""A checkpoint's state to look into, one place at a time: 64 MB are as quick to open as 64 KB.

Of a place so much is read as a page can hold; what is left out is named with its size, and most of it can be opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import Items, Members, Text, Value
from reviewhub.core.changes import segments as keys_of
from reviewhub.core.display import arguments, secrets, segments
from reviewhub.core.display.arguments import Place, Row, Sheet, pointer
from reviewhub.core.display.segments import Segment
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.errors import Invalid

MOST_PARTS = 100
MOST_ROWS = 300
MOST_BYTES = 400_000
"""Parsed for one page."""
MOST_OPENED = 2_000_000
"""Bytes of one text, or of one deep object, that a page still opens."""
SHEET = 20_000

Key = str | int


@dataclass(frozen=True)
class Part:
    """What stands at a name in a place: its values, or, if it is too large for this page, its kind and size."""

    path: str
    name: tuple[Segment, ...]
    kind: str
    size: int
    rows: tuple[Row, ...] = ()
    is_cut: bool = False
    can_open: bool = True


@dataclass(frozen=True)
class Look:
    """One place of a state.

    `parts` are those from `start` on of the `count` that it has; a single value has a `sheet` of its text instead.
    """

    path: str
    crumbs: tuple[tuple[tuple[Segment, ...], str], ...]
    kind: str
    size: int
    count: int = 0
    start: int = 0
    parts: tuple[Part, ...] = ()
    sheet: Sheet | None = None
    is_secret: bool = False

    @property
    def next(self) -> int | None:
        """From where the following page goes on; None on the last one."""
        after = self.start + len(self.parts)
        return after if after < self.count else None

    @property
    def before(self) -> int:
        """From where the page before begins."""
        return max(0, self.start - MOST_PARTS)

    @property
    def first(self) -> int:
        """The place of the first part, counted from 1."""
        return self.start + 1

    @property
    def last(self) -> int:
        """The place of the last part, counted from 1."""
        return self.start + len(self.parts)


@dataclass
class _Budget:
    """What a page may still read."""

    bytes: int
    rows: int


@dataclass(frozen=True)
class _Here:
    """A value in a state, and the way to it."""

    value: Value | State
    keys: tuple[Key, ...] = ()
    is_hidden: bool = False
    schema: str = field(default="", repr=False)

    @property
    def path(self) -> str:
        return _pointer(self.keys)


def schema_of(row: Checkpoint) -> str:
    """The JSON Schema that the state was saved under; empty when it was none."""
    return row.state_schema.schema if row.state_schema else ""


def look(
    state: State,
    *,
    path: str = "",
    start: int = 0,
    sheet: int = 1,
    schema: str = "",
    most_rows: int | None = None,
) -> Look:
    """The place `path` of a state.

    Args:
        path: a JSON pointer; empty for the state itself.
        start: the first part to show of a list or object.
        sheet: which sheet of a long text, from 1.
        schema: the state's JSON Schema, for what it marks `writeOnly`.
        most_rows: values to show; MOST_ROWS if nothing is said.

    Raises:
        Invalid: there is no such place, or it is too large to be opened on a page.
    """
    here = _find(state, path, schema)
    count = _count(here.value)
    crumbs = tuple(
        (segments.split(str(key), mask=False), _pointer(here.keys[: at + 1]))
        for at, key in enumerate(here.keys)
    )
    size = here.value.size
    if count is None:
        return Look(
            path=path,
            crumbs=crumbs,
            kind=_kind(here.value),
            size=size,
            sheet=_sheet(here, sheet),
            is_secret=here.is_hidden,
        )
    if not 0 <= start <= max(count - 1, 0):
        raise Invalid.at("/from", f"there are {count} values here, the first is 0", "out_of_range")
    budget = _Budget(MOST_BYTES, most_rows or MOST_ROWS)
    inside = _children(here.value, start, MOST_PARTS)
    parts = tuple(_part(here, key, value, budget) for key, value in inside)
    return Look(
        path=path, crumbs=crumbs, kind=_kind(here.value), size=size, count=count, start=start, parts=parts
    )


def value_at(state: State, path: str) -> str | None:
    """The canonical text of the value at a path; None where there is none.

    Raises:
        Invalid: the path is none, or leads into what is too large to be opened.
    """
    try:
        here = _find(state, path, "")
    except _Nothing:
        return None
    return here.value.text


def hides(path: str) -> bool:
    """Whether a key on the way hides what stands at a JSON pointer. Raises Invalid for what is none."""
    return any(secrets.is_secret_key(key) for key in _keys(path))


def _pointer(keys: Sequence[Key]) -> str:
    """The exact JSON pointer, for links; `canonical.pointer` is for messages and shortens."""
    return "".join(pointer("", key) for key in keys)


class _Nothing(Invalid):
    """There is no such value in this state."""


def _find(state: State, path: str, schema: str) -> _Here:
    here = _Here(state, schema=schema)
    for key in _keys(path):
        found = _child(here.value, key)
        if found is None:
            raise _Nothing(f"There is no {path[:200]} in this state.")
        exact, value = found
        hidden = here.is_hidden or (isinstance(exact, str) and secrets.is_secret_key(exact))
        here = _Here(value, (*here.keys, exact), hidden, schema)
    return here


def _keys(path: str) -> list[str]:
    try:
        return keys_of(path)
    except ValueError as error:
        raise Invalid.at("/path", str(error), "invalid_path") from error


def _child(value: Value | State, key: str) -> tuple[Key, Value] | None:
    if isinstance(value, State):
        return (key, value.values[key]) if key in value.values else None
    if isinstance(value, Members):
        return (key, value.members[key]) if key in value.members else None
    if isinstance(value, Items):
        at = _index(key, len(value.texts))
        return None if at is None else (at, Text(value.texts[at]))
    tree = _opened(value)
    if isinstance(tree, dict):
        return (key, Text(canonical.dumps(tree[key]))) if key in tree else None
    if isinstance(tree, list):
        at = _index(key, len(tree))
        return None if at is None else (at, Text(canonical.dumps(tree[at])))
    return None


def _index(key: str, length: int) -> int | None:
    is_index = key.isascii() and key.isdecimal() and (key == "0" or not key.startswith("0")) and len(key) < 11
    return int(key) if is_index and int(key) < length else None


def _count(value: Value | State) -> int | None:
    """How many values are inside; None for a single one."""
    if isinstance(value, State):
        return len(value.values)
    if isinstance(value, Members):
        return len(value.members)
    if isinstance(value, Items):
        return len(value.texts)
    if value.text[:1] not in "{[":
        return None
    tree = _opened(value)
    return len(tree) if isinstance(tree, list | dict) else None


def _children(value: Value | State, start: int, most: int) -> Sequence[tuple[Key, Value]]:
    stop = start + most
    if isinstance(value, State):
        return list(value.values.items())[start:stop]
    if isinstance(value, Members):
        return list(value.members.items())[start:stop]
    if isinstance(value, Items):
        return [(at, Text(text)) for at, text in enumerate(value.texts[start:stop], start)]
    tree = _opened(value)
    if isinstance(tree, dict):
        return [(key, Text(canonical.dumps(item))) for key, item in list(tree.items())[start:stop]]
    assert isinstance(tree, list)
    return [(at, Text(canonical.dumps(item))) for at, item in enumerate(tree[start:stop], start)]


def _part(here: _Here, key: Key, value: Value, budget: _Budget) -> Part:
    path = pointer(here.path, key)
    name = segments.split(str(key), mask=False)
    hidden = here.is_hidden or (isinstance(key, str) and secrets.is_secret_key(key))
    kind, size = _kind(value), value.size
    can_open = size <= MOST_OPENED or not isinstance(value, Text)
    if size > budget.bytes or budget.rows <= 0:
        return Part(path, name, kind, size, is_cut=True, can_open=can_open)
    budget.bytes -= size
    tree = parsed(value.text)
    marked = write_only_at(here.schema, (*here.keys, key), tree)
    place = Place(path, pointer("", key).removeprefix("/"), hidden)
    rows, more = arguments.rows_at(tree, place, most=budget.rows, secret_paths=marked)
    budget.rows -= len(rows)
    return Part(path, name, kind, size, tuple(rows), is_cut=more, can_open=can_open)


def write_only_at(schema: str, keys: Sequence[Key], tree: Tree) -> frozenset[str]:
    """The pointers at and below the place `keys` that a state's schema marks `writeOnly`; empty without a schema.

    Only the way to this one value is laid under the schema, so every list item counts as the first.
    """
    if not schema:
        return frozenset()
    whole: Tree = tree
    for step in reversed(keys):
        whole = {step: whole} if isinstance(step, str) else [whole]
    found = write_only_paths(schema, canonical.dumps(whole))
    exact, depth = _pointer(keys), len(keys)
    return frozenset(
        exact + "".join(f"/{rest}" for rest in path.split("/")[depth + 1 :])
        for path in found
        if path.count("/") >= depth
    )


def _sheet(here: _Here, number: int) -> Sheet:
    assert isinstance(here.value, Text)
    tree = _opened(here.value)
    shown, _ = arguments.in_words(tree)
    if here.is_hidden or here.path in write_only_at(here.schema, here.keys, tree):
        return Sheet((segments.secret(shown),), 1, 1, 0)
    shown = secrets.masked(shown)  # before it is cut, or half a secret would pass unseen
    count = max(1, -(-len(shown) // SHEET))
    if not 1 <= number <= count:
        raise Invalid.at("/sheet", f"there are {count} sheets", "out_of_range")
    text = shown[(number - 1) * SHEET : number * SHEET]
    return Sheet(segments.split(text), number, count, len(shown))


def _opened(value: Text) -> Tree:
    if value.size > MOST_OPENED:
        raise Invalid(
            f"This value has {value.size:,} bytes; a page opens at most {MOST_OPENED:,}. The API gives it whole."
        )
    return parsed(value.text)


def parsed(text: str) -> Tree:
    """The value of a canonical text, however large."""
    return canonical.reread(text)


def _kind(value: Value | State) -> str:
    if isinstance(value, State):
        return "state"
    if isinstance(value, Items):
        return f"list of {len(value.texts):,}"
    if isinstance(value, Members):
        return f"object of {len(value.members):,}"
    words = {
        "{": "object",
        "[": "list",
        '"': "text",
        "t": "true or false",
        "f": "true or false",
        "n": "nothing",
    }
    return words.get(value.text[:1], "number")
