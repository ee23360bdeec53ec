"""A tool call's arguments as rows to read: every value in pieces, nothing hidden without saying how much."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from reviewhub_agents import canonical

from reviewhub.core.display import exact, secrets, segments
from reviewhub.core.display.secrets import is_secret_key
from reviewhub.core.display.segments import Segment

HEAD_CHARACTERS = 700  # of one value; the rest opens on demand
HEAD_LINES = 12
INLINE_CHARACTERS = 20_000  # a longer rest has a page of its own instead of sitting in this one
FIRST_ROWS = 60
PAGE_ROWS = 300  # in one page; those after them have pages of their own
MOST_WARNED = 50  # of the rows on other pages, those with a warning stand on the first one too
MAX_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """One value: where (`path`, a JSON pointer), what, and its pieces (of a long one, the head)."""

    path: str
    name: tuple[Segment, ...]
    type: str
    segments: tuple[Segment, ...]
    depth: int = 0
    flags: tuple[str, ...] = ()
    locked: bool = False
    secret: bool = False
    hidden_characters: int = 0
    hidden_lines: int = 0
    rest: tuple[Segment, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether a part of the value is not in `segments`."""
        return self.hidden_characters > 0

    @property
    def is_risky(self) -> bool:
        """Whether the row carries a warning."""
        return bool(self.flags)

    @property
    def is_empty(self) -> bool:
        """Whether the value alone says too little, so that its type stands beside it."""
        return self.type.startswith("empty ")

    @property
    def hidden_words(self) -> str:
        """How much is hidden, in words."""
        lines = f", {self.hidden_lines:,} lines" if self.hidden_lines > 1 else ""
        return f"{self.hidden_characters:,} more characters{lines}"


@dataclass(frozen=True, slots=True)
class Arguments:
    """All rows: those shown at once, and those behind a count."""

    first: tuple[Row, ...] = ()
    more: tuple[Row, ...] = ()
    left_out: int = 0
    cut: tuple[Row, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        """Whether the tool is called without any argument: said plainly, never shown as a blank."""
        return not self.first

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every row there is."""
        return self.first + self.more

    @property
    def folded(self) -> tuple[Row, ...]:
        """Those that stand in the same page as the first ones, behind a count."""
        return self.more[: PAGE_ROWS - FIRST_ROWS]

    @property
    def later(self) -> tuple[Row, ...]:
        """Those that stand on pages of their own."""
        return self.more[PAGE_ROWS - FIRST_ROWS :]

    @property
    def warned_later(self) -> tuple[Row, ...]:
        """Of those on other pages the first that carry a warning."""
        return tuple(row for row in self.later if row.is_risky)[:MOST_WARNED]

    @property
    def is_shown_whole(self) -> bool:
        """Whether one page shows every value to its end."""
        return not (self.cut or self.later or self.left_out)

    @property
    def needs_reading(self) -> bool:
        """Whether a part of it has to be opened to be read: approving waits until it was."""
        return bool(self.cut or self.more)

    @property
    def pages(self) -> int:
        """On how many pages all rows stand."""
        return max(1, -(-len(self.rows) // PAGE_ROWS))

    def page(self, number: int) -> tuple[Row, ...]:
        """The rows of one page, from 1. Raises KeyError when there is none."""
        if not 1 <= number <= self.pages:
            raise KeyError(number)
        return self.rows[(number - 1) * PAGE_ROWS : number * PAGE_ROWS]

    def top(self, count: int) -> tuple[Row, ...]:
        """The `count` rows worth showing in a small space: risky ones first."""
        return tuple(sorted(self.rows, key=lambda row: not row.is_risky)[:count])


def rows(
    text: str,
    *,
    secret_paths: Collection[str] = (),
    locked_paths: Collection[str] = (),
    risks: dict[str, str] | None = None,
    packed: bool = False,
) -> Arguments:
    """The rows of canonical JSON `text`; `packed` for a state, whose exact values are shown as what they are.

    `secret_paths` are JSON pointers that the schema marks writeOnly, `locked_paths` may not be edited,
    `risks` maps a pointer to the reason why its value is risky. Raises `canonical.BadJson` for what is not
    JSON.
    """
    tree = canonical.reread(text)
    found: list[Row] = []
    left_out = 0
    for path, name, value, depth, hidden in leaves(tree, packed=packed):
        if len(found) >= MAX_ROWS:
            left_out += 1
            continue
        is_secret = hidden or path in secret_paths
        row = _row(path, name, value, depth, is_secret=is_secret, is_locked=path in locked_paths)
        if risks and path in risks:
            row = _with_flag(row, risks[path])
        found.append(row)
    return of_rows(found, left_out=left_out)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in a larger one: its JSON pointer, its name, and whether a key on the way hides it."""

    path: str = ""
    name: str = ""
    is_hidden: bool = False


def rows_at(
    tree: canonical.Tree, place: Place, *, most: int, secret_paths: Collection[str] = ()
) -> tuple[list[Row], bool]:
    """At most `most` rows of a part of a state, and whether there are more. Exact values are shown as what they are."""
    found: list[Row] = []
    for path, name, value, depth, hidden in leaves(tree, packed=True, place=place):
        if len(found) == most:
            return found, True
        found.append(
            _row(path, name, value, depth, is_secret=hidden or path in secret_paths, is_locked=False)
        )
    return found, False


def of_rows(found: list[Row], *, left_out: int = 0) -> Arguments:
    """These rows, the first of them shown at once."""
    return Arguments(
        first=tuple(found[:FIRST_ROWS]),
        more=tuple(found[FIRST_ROWS:]),
        left_out=left_out,
        cut=tuple(row for row in found if row.is_cut),
    )


def text_row(path: str, text: str) -> Row:
    """A text from elsewhere than the arguments as a row: its head, and the rest.

    Args:
        path: where a page of its own finds it; without one the rest stands in this page, however long it is.
    """
    inline = INLINE_CHARACTERS if path else len(text)
    return _row(path, "", text, 0, is_secret=False, is_locked=False, inline=inline)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet of a long value."""

    segments: tuple[Segment, ...]
    number: int
    count: int
    characters: int


def sheet(text: str, path: str, *, number: int = 1, secret_paths: Collection[str] = ()) -> Sheet:
    """Sheet `number` (from 1) of the value at JSON pointer `path`; raises KeyError when there is none.

    A megabyte is read in sheets, so that no page holds more than a browser likes.
    """
    for found, _name, value, _depth, hidden in leaves(canonical.reread(text)):
        if found == path:
            shown, _ = in_words(value)
            if hidden or path in secret_paths:
                return Sheet((segments.secret(shown),), 1, 1, 0)
            shown = secrets.masked(shown)  # before it is cut, or half a secret would pass unseen
            count = max(1, -(-len(shown) // INLINE_CHARACTERS))
            at = (number - 1) * INLINE_CHARACTERS
            if not 1 <= number <= count:
                raise KeyError(path)
            return Sheet(segments.split(shown[at : at + INLINE_CHARACTERS]), number, count, len(shown))
    raise KeyError(path)


def pointer(parent: str, key: str | int) -> str:
    """The JSON pointer of `key` below `parent`, exact (RFC 6901)."""
    return f"{parent}{exact.below(key)}"


Leaf = tuple[str, str, "canonical.Tree | exact.Shown", int, bool]


def leaves(tree: canonical.Tree, *, packed: bool = False, place: Place | None = None) -> Iterator[Leaf]:
    """Every value that has no values inside, in order, with a readable name like `items/2/sku`.

    An own stack: the depth of hostile input never meets the interpreter's. The last part says whether a key
    on the way looks like a secret's. `place` is where the value stands, if it is a part of a larger one.
    """
    start = place or Place()
    todo: list[tuple[str, str, canonical.Tree, int, bool]] = [
        (start.path, start.name, tree, 0, start.is_hidden)
    ]
    while todo:
        path, name, value, depth, hidden = todo.pop()
        whole = exact.shown(value) if packed else None
        inside = exact.parts(value) if packed and whole is None else exact.members(value)
        if inside and whole is None:
            todo.extend(
                (
                    "".join([path, *(pointer("", key) for key in part.keys)]),
                    f"{name}{part.name}" if name else part.name.removeprefix("/"),
                    part.value,
                    depth + 1,
                    hidden or is_secret_key(part.key),
                )
                for part in reversed(inside)
            )
        elif path:
            yield path, name, whole or value, depth - 1, hidden
        elif whole is not None or not isinstance(value, dict):
            yield path, "(the whole value)", whole or value, 0, hidden


def _row(
    path: str,
    name: str,
    value: canonical.Tree | exact.Shown,
    depth: int,
    *,
    is_secret: bool,
    is_locked: bool,
    inline: int = INLINE_CHARACTERS,
) -> Row:
    shown, kind = in_words(value)
    label = segments.split(name, mask=False)
    if is_secret and value not in (None, True, False):
        return Row(path, label, kind, (segments.secret(shown),), depth, locked=is_locked, secret=True)
    head, rest = _cut(shown) if isinstance(value, str | exact.Shown) else (shown, "")
    pieces = segments.split(head)
    hidden = segments.split(rest if len(rest) <= inline else rest[:INLINE_CHARACTERS])
    flags = [*segments.odd(pieces, ends=not rest), *(f"Name: {said}" for said in segments.odd(label))]
    flags.extend(f"In the part not shown: {said}" for said in _odd_rest(hidden, rest))
    return Row(
        path=path,
        name=label,
        type=kind,
        segments=pieces,
        depth=depth,
        flags=tuple(flags),
        locked=is_locked,
        secret=any(piece.kind == "secret" for piece in pieces),
        hidden_characters=len(rest),
        hidden_lines=rest.count("\n") + 1 if rest else 0,
        rest=hidden if len(rest) <= inline else (),
    )


def _odd_rest(pieces: tuple[Segment, ...], rest: str) -> list[str]:
    """What is strange in the part not shown; beyond its first sheet only that characters are hidden."""
    if not rest:
        return []
    said = segments.odd(pieces, begins=False, ends=len(rest) <= INLINE_CHARACTERS)
    if not said and segments.hidden_in(rest[INLINE_CHARACTERS:]):
        said.append("hidden characters.")
    return said


def _with_flag(row: Row, reason: str) -> Row:
    return replace(row, flags=(reason, *row.flags))


def in_words(value: canonical.Tree | exact.Shown) -> tuple[str, str]:
    """The value as text to read, and its type in a word."""
    if isinstance(value, exact.Shown):
        return value.text, value.kind
    if isinstance(value, str):
        return value, "text" if value else "empty text"
    if isinstance(value, bool):
        return ("true" if value else "false"), "true or false"
    if value is None:
        return "null", "nothing"
    if isinstance(value, canonical.Number):
        return value.literal, "number"
    return ("{ }", "empty object") if isinstance(value, dict) else ("[ ]", "empty list")


def _cut(text: str) -> tuple[str, str]:
    """Head and rest of a long text; a rest shorter than a line is not worth hiding."""
    at = min(len(text), HEAD_CHARACTERS)
    lines = 0
    for index in range(at):
        if text[index] == "\n":
            lines += 1
            if lines == HEAD_LINES:
                at = index + 1
                break
    if at == len(text):
        return text, ""
    at = next((end for start, end in secrets.find(text) if start < at < end), at)
    if len(text) - at < 80 and text.count("\n", at) < 2:
        return text, ""
    return text[:at], text[at:]
