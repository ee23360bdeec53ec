"""What of a state is not as its schema says. Pure, but for a memory of this process of what was found before.

Whether the value of a field fits depends on its bytes and on the schema alone, so a field that did not change is not
looked at again, and of a list that grew only the new items are. That holds for schemas that are an object of
properties, which those of models are; with any other the whole state is looked at.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.seen import seen, seen_whole
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.values import Items, Value, common
from reviewhub.core.schemas.evaluator import Fault
from reviewhub.core.schemas.validate import MAX_STEPS, Check, Compiled, SchemaUnusable, said
from reviewhub.core.schemas.wording import error_of

MOST = 10
"""Misfits that are told of one state."""
MAX_PATH = 500
BYTES_PER_STEP = 4
"""The budget grows with the state: a step for so many bytes that are looked at."""
UNCHECKED: Final = "unchecked"

_OBJECT: Final = {"type", "properties", "required", "additionalProperties"}
_LIST: Final = {"type", "items", "minItems", "maxItems"}
_REMEMBERED, _LONGEST_NAME = 20_000, 200


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that does not fit: a JSON pointer into the state, the schema's keyword, and a sentence."""

    path: str
    code: str
    message: str

    def error(self, *, below: str = "") -> dict[str, str]:
        """It as an error of the API, with its path below another."""
        return {"path": below + self.path, "code": self.code, "message": self.message}


Found = tuple[Misfit, ...]


def misfits_of(state: State, *, schema: Compiled, mark: str, before: State | None) -> list[Misfit]:
    """What of `state` does not fit, in order; at most `MOST`. What could not be checked is one of code `unchecked`.

    Args:
        mark: the fingerprint of `schema`, by which results are remembered.
        before: a state that it probably follows, of which most may be remembered.
    """
    check = schema.begin(steps=MAX_STEPS)
    root = schema.resolved(schema.root)
    if not (isinstance(root, dict) and said(root) <= _OBJECT and root.get("type", "object") == "object"):
        check.allow(state.size // BYTES_PER_STEP)
        return list(_unless_unusable(check, root, state.text, MOST, see=seen_whole))
    found: list[Misfit] = [
        Misfit(canonical.pointer([name]), "required", "is required")
        for name in root.get("required", [])
        if name not in state.values
    ]
    for name, value in state.values.items():
        if len(found) >= MOST:
            break
        part = root.get("properties", {}).get(name, root.get("additionalProperties", True))
        if part is False:
            found.append(Misfit(canonical.pointer([name]), "additionalProperties", "is not a known member"))
        elif part is not True:
            old = before.values.get(name) if before else None
            inside = _of_field(_Field(mark, name, check.schema.resolved(part), check), value, old)
            found += (Misfit(canonical.pointer([name]) + one.path, one.code, one.message) for one in inside)
    return found[:MOST]


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field is to be."""

    mark: str
    name: str
    part: Any
    check: Check


def _of_field(field: _Field, value: Value, old: Value | None) -> Found:
    """What does not fit in a field, with paths below it. What the budget did not allow is not remembered."""
    known = _memory.get(field, value)
    if known is not None:
        return known
    if isinstance(value, Items) and _is_list_of_items(field.part):
        found = _of_list(field, value, old if isinstance(old, Items) else None)
    else:
        field.check.allow(value.size // BYTES_PER_STEP)
        found = _unless_unusable(field.check, field.part, value.text, MOST)
    if not any(one.code == UNCHECKED for one in found):
        _memory.put(field, value, found)
    return found


def _is_list_of_items(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and said(part) <= _LIST
        and not isinstance(part.get("items"), list)
        and part.get("type", "array") == "array"
    )


def _of_list(field: _Field, value: Items, old: Items | None) -> Found:
    """The items that the list shares with the one before at its beginning are known, if that one is."""
    known = _memory.get(field, old) if old is not None else None
    same = common(old, value) if old is not None and known is not None else 0
    kept = [one for one in known or () if one.path and int(one.path.split("/", 2)[1]) < same]
    new = value.between(same, value.length)
    field.check.allow(sum(map(len, new)) // BYTES_PER_STEP)
    items = {"items": field.part.get("items", True)}
    lengths = {name: field.part[name] for name in ("minItems", "maxItems") if name in field.part}
    found = [*_of_length(field.check, lengths, value.length), *kept]
    found += _moved(_unless_unusable(field.check, items, f"[{','.join(new)}]", MOST), by=same)
    return tuple(found[:MOST])


def _of_length(check: Check, lengths: dict[str, Any], length: int) -> Sequence[Misfit]:
    least, most = lengths.get("minItems", 0), lengths.get("maxItems", length)
    faults = [Fault((), "minItems", least)] if length < least else []
    faults += [Fault((), "maxItems", most)] if length > most else []
    return [_misfit(fault) for fault in faults]


def _moved(found: Found, *, by: int) -> Found:
    """Misfits of the end of a list, with the places that its items have in the whole of it."""
    return tuple(
        one if one.code == UNCHECKED or not one.path else Misfit(_place(one.path, by), one.code, one.message)
        for one in found
    )


def _place(path: str, by: int) -> str:
    _, number, *rest = path.split("/")
    return "/".join(["", str(int(number) + by), *rest])


def _unless_unusable(
    check: Check, part: Any, text: str, limit: int, *, see: Callable[[Tree], Any] = seen
) -> Found:
    try:
        return tuple(_misfit(fault) for fault in check.faults(part, text, limit=limit, see=see))
    except SchemaUnusable as unusable:
        return (Misfit("", UNCHECKED, str(unusable)),)


def _misfit(fault: Fault) -> Misfit:
    error = error_of(fault)
    path = error["path"]
    return Misfit(
        path if len(path) <= MAX_PATH else path[: MAX_PATH - 1] + "…", error["code"], error["message"]
    )


class _Memory:
    """What was found in the fields looked at last; nothing under names of absurd length."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str, str], Found] = OrderedDict()

    def get(self, field: _Field, value: Value | None) -> Found | None:
        if value is None or len(field.name) > _LONGEST_NAME:
            return None
        key = (field.mark, field.name, value.digest)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, field: _Field, value: Value, found: Found) -> None:
        if len(field.name) > _LONGEST_NAME:
            return
        with self._lock:
            self._found[field.mark, field.name, value.digest] = found
            if len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)


_memory = _Memory()
