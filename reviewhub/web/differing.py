"""What differs between two states, for people to read: bounded, secrets masked."""

from __future__ import annotations

from reviewhub_agents import canonical

from reviewhub.checkpoints.difference import Difference
from reviewhub.checkpoints.rules import Change
from reviewhub.core.changes import segments as keys_of
from reviewhub.core.display import arguments, exact
from reviewhub.core.display.changed import Changed, changed
from reviewhub.core.display.masking import masked
from reviewhub.web.state_view import hides, parsed, write_only_at

MOST = 200
MOST_BYTES = 2_000_000
"""Parsed for one page; a value for which nothing is left is said to differ, with its sizes."""
MOST_SHOWN = 20_000
"""Characters of a list or an object that are shown; of a larger one only its size."""


def listed(found: Difference, *, schema: str = "") -> list[Changed]:
    """The differences as rows to read; `schema` is the states' JSON Schema, for what it marks `writeOnly`."""
    return [_row(one, schema) for one in found.changes]


def _row(one: Change, schema: str) -> Changed:
    is_secret = hides(one.path) or _is_marked(one.path, schema)
    large = one.is_whole or any(_is_large(text) for text in (one.before, one.after))
    was, becomes = ((_size if large else _said)(text) for text in (one.before, one.after))
    if was == becomes and not large and not is_secret:
        # A number that became the same text, or the other way round.
        was, becomes = one.before, one.after
    return changed(one.path.removeprefix("/") or "the whole state", was, becomes, is_secret=is_secret)


def _is_marked(path: str, schema: str) -> bool:
    """A key of digits may be a place in a list or a name; whichever way the schema marks it, it is hidden."""
    names = keys_of(path)
    places = [int(name) if name.isascii() and name.isdecimal() else name for name in names]
    return any(path in write_only_at(schema, keys, None) for keys in (names, places))


def _is_large(text: str | None) -> bool:
    return text is not None and text[0] in "{[" and len(text) > MOST_SHOWN


def _size(text: str | None) -> str | None:
    if text is None:
        return None
    kind = {"{": "object", "[": "list", '"': "text"}.get(text[0], "value")
    return f"{kind} of {len(text.encode()):,} bytes, not shown here"


def _said(text: str | None) -> str | None:
    if text is None:
        return None
    tree = parsed(text)
    found = exact.shown(tree)
    if found is not None:
        return found.text
    if isinstance(tree, dict | list):
        return canonical.dumps(masked(text))
    return arguments.in_words(tree)[0]
