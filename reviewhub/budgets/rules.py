"""When a field of a state is too heavy. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

MOST_WARNINGS = 20
NAME_CHARACTERS = 200


Why = Literal["size", "growth"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What fields may weigh before people and the agent are warned; 0 stands for no limit.

    `field_bytes` is for each field, `fields` for those with another limit; `step_bytes` is what one checkpoint may add
    to a field.
    """

    field_bytes: int = 0
    step_bytes: int = 0
    fields: Mapping[str, int] = field(default_factory=dict)

    def limit_of(self, name: str) -> int:
        """Bytes that this field may have; 0 for any number."""
        return self.fields.get(name, self.field_bytes)

    def least(self) -> int:
        """The smallest limit: a state with fewer bytes has nothing to warn of. 0 when there is no limit at all."""
        limits = (self.field_bytes, self.step_bytes, *self.fields.values())
        return min(filter(None, limits), default=0)


@dataclass(frozen=True, kw_only=True)
class FieldWarning:
    """One field above its budget. `bytes` is what it weighs, or for `growth` what one checkpoint added to it.

    `share` is what it weighs in percent of the state; a name longer than NAME_CHARACTERS is cut.
    """

    field: str
    why: Why
    bytes: int
    limit: int
    share: int


def warnings(
    sizes: Mapping[str, int], *, total: int, budget: Budget, grown: Mapping[str, int] | None = None
) -> list[FieldWarning]:
    """What to warn of, the heaviest first, MOST_WARNINGS at most.

    Args:
        sizes: bytes by field.
        total: bytes of the whole state.
        grown: bytes that the newest checkpoint added, by field; those that did not grow may be left out.
    """
    if not budget.least() or total <= budget.least():
        return []
    found: list[FieldWarning] = []
    for name, size in sizes.items():
        share, more, limit = percent(size, total), (grown or {}).get(name, 0), budget.limit_of(name)
        if limit and size > limit:
            found.append(FieldWarning(field=name, why="size", bytes=size, limit=limit, share=share))
        if budget.step_bytes and more > budget.step_bytes:
            limit = budget.step_bytes
            found.append(FieldWarning(field=name, why="growth", bytes=more, limit=limit, share=share))
    found.sort(key=lambda one: (-sizes[one.field], one.field, one.why))
    return [replace(one, field=shortened(one.field)) for one in found[:MOST_WARNINGS]]


def percent(part: int, total: int) -> int:
    """`part` in percent of `total`, rounded; 0 of nothing."""
    return round(100 * part / total) if total else 0


def shortened(name: str) -> str:
    """A field's name in at most NAME_CHARACTERS characters, the last of which is … if it was longer."""
    return name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 1] + "…"
