"""What differs between two states: the pure part of `difference`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

Kind = Literal["added", "removed", "changed"]
Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Change:
    """One difference. `path` is a JSON pointer: into the new state, and for what was removed into the old one.

    `before` and `after` are canonical JSON texts; None for what was not there.
    """

    path: str
    kind: Kind
    before: str | None
    after: str | None


def compare(old: Tree, new: Tree, *, most: int) -> tuple[list[Change], bool]:
    """The differences from `old` to `new`, fields in order of their names, list items in their order.

    Args:
        most: differences to list.

    Returns:
        At most `most` differences, and whether there are more.
    """
    found: list[Change] = []
    for keys, before, after in _walk(old, new):
        if len(found) == most:
            return found, True
        found.append(_change(keys, before, after))
    return found, False


class _Absent:
    """Marks what is not there; None is a value."""


_ABSENT = _Absent()
_Side: TypeAlias = "Tree | _Absent"


def _walk(old: Tree, new: Tree) -> Iterator[tuple[Keys, _Side, _Side]]:
    """Pairs that differ, by an own stack: a deep state does not meet the interpreter's limit."""
    todo: list[tuple[Keys, _Side, _Side]] = [((), old, new)]
    while todo:
        keys, before, after = todo.pop()
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            names = sorted(before.keys() | after.keys(), reverse=True)
            todo += [((*keys, name), before.get(name, _ABSENT), after.get(name, _ABSENT)) for name in names]
        elif isinstance(before, list) and isinstance(after, list):
            todo += reversed(list(_items(keys, before, after)))
        else:
            yield keys, before, after


def _items(keys: Keys, old: list[Tree], new: list[Tree]) -> Iterator[tuple[Keys, _Side, _Side]]:
    """Items of two lists: what is equal at both ends is left out, the middle is compared place by place.

    An agent's lists grow at the end, and now and then the last item is replaced or one is cut out: this reads well for
    all three, in one pass.
    """
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    cut, put = old[start : len(old) - end], new[start : len(new) - end]
    for at in range(max(len(cut), len(put))):
        before: _Side = cut[at] if at < len(cut) else _ABSENT
        after: _Side = put[at] if at < len(put) else _ABSENT
        yield (*keys, start + at), before, after


def _change(keys: Keys, before: _Side, after: _Side) -> Change:
    kind: Kind = (
        "added" if isinstance(before, _Absent) else "removed" if isinstance(after, _Absent) else "changed"
    )
    return Change(canonical.pointer(keys), kind, _text(before), _text(after))


def _text(side: _Side) -> str | None:
    return None if isinstance(side, _Absent) else canonical.dumps(side)
