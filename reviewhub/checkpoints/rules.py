"""What differs between two states: the pure part of `difference`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

Kind = Literal["added", "removed", "changed"]
Keys = tuple[str | int, ...]
T = TypeVar("T")


class Absent:
    """Marks what is not there; None is a value."""


@dataclass(frozen=True, eq=False)
class Unread:
    """A value that is too large to be looked into; its canonical text."""

    text: str


ABSENT = Absent()
Side: TypeAlias = "Tree | Absent | Unread"
Pair: TypeAlias = tuple[Keys, Side, Side]


@dataclass(frozen=True)
class Change:
    """One difference. `path` is a JSON pointer: into the new state, and for what was removed into the old one.

    `before` and `after` are canonical JSON texts; None for what was not there. `is_whole`: too large to be looked into,
    so that what differs may be small.
    """

    path: str
    kind: Kind
    before: str | None
    after: str | None
    is_whole: bool = False


def compare(pairs: Iterable[Pair], *, most: int) -> tuple[list[Change], bool]:
    """The differences between pairs of values, in their order; inside of them by name and place.

    Args:
        pairs: where, what was there and what is; only what may differ need be given.
        most: differences to list.

    Returns:
        At most `most` differences, and whether there are more.
    """
    found: list[Change] = []
    for pair in pairs:
        for keys, before, after in _walk(pair):
            if len(found) == most:
                return found, True
            found.append(_change(keys, before, after))
    return found, False


def _walk(pair: Pair) -> Iterator[Pair]:
    """Pairs that differ, by an own stack: a deep state does not meet the interpreter's limit."""
    todo: list[Pair] = [pair]
    while todo:
        keys, before, after = todo.pop()
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            names = sorted(before.keys() | after.keys(), reverse=True)
            todo += [((*keys, name), before.get(name, ABSENT), after.get(name, ABSENT)) for name in names]
        elif isinstance(before, list) and isinstance(after, list):
            todo += reversed(list(_items(keys, before, after)))
        else:
            yield keys, before, after


def _items(keys: Keys, old: list[Tree], new: list[Tree]) -> Iterator[Pair]:
    start, cut, put = middle(old, new)
    return paired(keys, start, cut, put)


def middle(old: Sequence[T], new: Sequence[T]) -> tuple[int, Sequence[T], Sequence[T]]:
    """What of two lists remains when the items that are equal at both ends are left out, and how many at the beginning.

    An agent's lists grow at the end, and now and then the last item is replaced or one is cut out: this reads well for
    all three, in one pass.
    """
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    return start, old[start : len(old) - end], new[start : len(new) - end]


def paired(keys: Keys, start: int, cut: Sequence[Tree], put: Sequence[Tree]) -> Iterator[Pair]:
    """What remains of two lists, place by place from `start` on."""
    for at in range(max(len(cut), len(put))):
        before: Side = cut[at] if at < len(cut) else ABSENT
        after: Side = put[at] if at < len(put) else ABSENT
        yield (*keys, start + at), before, after


def _change(keys: Keys, before: Side, after: Side) -> Change:
    kind: Kind = (
        "added" if isinstance(before, Absent) else "removed" if isinstance(after, Absent) else "changed"
    )
    is_whole = isinstance(before, Unread) or isinstance(after, Unread)
    return Change(canonical.pointer(keys), kind, _text(before), _text(after), is_whole)


def _text(side: Side) -> str | None:
    if isinstance(side, Unread):
        return side.text
    return None if isinstance(side, Absent) else canonical.dumps(side)
