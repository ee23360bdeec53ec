"""How two JSON values differ, as steps that lead from one to the other: pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

Step: TypeAlias = tuple[Literal["set", "insert", "remove"], str, Tree]
# Above this product of lengths the best alignment of two lists costs more than it tells.
_MAX_ALIGNMENT = 40_000


def compare(old: Tree, new: Tree, *, is_fine: bool = False) -> list[Step]:
    """Steps (op, path, value) that make `new` of `old` when taken in order.

    Args:
        is_fine: whether only single values are put, and what did not change inside of an object or list is in no
            step, even where its new value as a whole would be shorter to read.

    Raises:
        ValueError: the two are not both objects, or both lists.
    """
    if not _same_kind(old, new):
        raise ValueError("only two objects, or two lists, can be compared")
    return list(_inside(old, new, "", is_fine=is_fine))


def _same_kind(old: Tree, new: Tree) -> bool:
    return (isinstance(old, dict) and isinstance(new, dict)) or (
        isinstance(old, list) and isinstance(new, list)
    )


def _at(old: Tree, new: Tree, path: str, *, is_fine: bool) -> list[Step]:
    """Steps for one place: inside it as long as that is shorter to read than the new value as a whole, or as asked."""
    if old == new:
        return []
    whole: list[Step] = [("set", path, new)]
    if not _same_kind(old, new):
        return whole
    inside = list(_inside(old, new, path, is_fine=is_fine))
    return inside if is_fine or _length(inside) < _length(whole) else whole


def _length(steps: list[Step]) -> int:
    return sum(len(path) + len(canonical.dumps(value)) + 10 for _, path, value in steps)


def _inside(old: Tree, new: Tree, path: str, *, is_fine: bool) -> Iterator[Step]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, path, is_fine=is_fine)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, path, is_fine=is_fine)


def _objects(old: dict[str, Tree], new: dict[str, Tree], path: str, *, is_fine: bool) -> Iterator[Step]:
    for name in sorted({*old, *new}):
        place = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in new:
            yield "remove", place, None
        elif name not in old:
            yield "set", place, new[name]
        else:
            yield from _at(old[name], new[name], place, is_fine=is_fine)


def _lists(old: list[Tree], new: list[Tree], path: str, *, is_fine: bool) -> Iterator[Step]:
    """Equal parts are left alone; indexes count what the steps before have made of the list."""
    shift = 0
    for old_from, old_to, new_from, new_to in _blocks(old, new):
        paired = min(old_to - old_from, new_to - new_from)
        for offset in range(paired):
            place = f"{path}/{new_from + offset}"
            yield from _at(old[old_from + offset], new[new_from + offset], place, is_fine=is_fine)
        for position in range(new_from + paired, new_to):
            yield "insert", f"{path}/{position}", new[position]
        for _ in range(old_from + paired, old_to):
            yield "remove", f"{path}/{old_from + paired + shift}", None
        shift += (new_to - new_from) - (old_to - old_from)


def _blocks(old: list[Tree], new: list[Tree]) -> list[tuple[int, int, int, int]]:
    """The unequal parts, from left to right, as (old from, old to, new from, new to)."""
    before, after = [canonical.dumps(item) for item in old], [canonical.dumps(item) for item in new]
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    old_to, new_to = len(before) - tail, len(after) - tail
    if (old_to - head) * (new_to - head) > _MAX_ALIGNMENT:
        return [(head, old_to, head, new_to)]
    matcher = SequenceMatcher(None, before[head:old_to], after[head:new_to], autojunk=False)
    return [
        (head + a, head + b, head + c, head + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]
