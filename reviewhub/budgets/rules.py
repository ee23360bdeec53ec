"""When a field of a state is too heavy. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from reviewhub.checkpoints.tree import State
from reviewhub.core.errors import Invalid

MOST_WARNINGS = 20
NAME_CHARACTERS = 200
MOST_NAMED = 100
MOST_BYTES = 2**31 - 1


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

    def concerns(self, total: int) -> bool:
        """Whether a state of `total` bytes may have anything to warn of."""
        return any(0 < limit < total for limit in (self.field_bytes, self.step_bytes, *self.fields.values()))


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
    if not budget.concerns(total):
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


def sizes_of(state: State) -> dict[str, int]:
    """Bytes of the canonical text of each field."""
    return {name: value.size for name, value in state.values.items()}


def grown(sizes: Mapping[str, int], before: State | None) -> dict[str, int]:
    """Bytes that fields have more than in the state before, negative for those that shrank; nothing without one."""
    if before is None:
        return {}
    return {
        name: size - (before.values[name].size if name in before.values else 0)
        for name, size in sizes.items()
    }


def check_budget(budget: Budget) -> None:
    """Raises Invalid when a limit is no number of bytes that can be kept, or there are too many of them."""
    for path, limit in (("/field_bytes", budget.field_bytes), ("/step_bytes", budget.step_bytes)):
        _check_limit(path, limit)
    if len(budget.fields) > MOST_NAMED:
        told = f"{len(budget.fields)} fields have limits of their own; at most {MOST_NAMED} can."
        raise Invalid.at("/fields", told, "too_large")
    for name, limit in budget.fields.items():
        if not 1 <= len(name) <= NAME_CHARACTERS:
            raise Invalid.at(
                "/fields",
                f"The name of a field has 1 to {NAME_CHARACTERS} characters; one here has {len(name)}.",
            )
        _check_limit("/fields", limit)


def lines(budget: Budget) -> list[str]:
    """The limits in words, one a line; none for what has no limit."""
    found = [("each field", budget.field_bytes), ("one checkpoint", budget.step_bytes)]
    said = [f"{what}: {limit}" for what, limit in found if limit]
    return said + [f"“{name}”: {limit or 'any'}" for name, limit in sorted(budget.fields.items())]


def _check_limit(path: str, limit: int) -> None:
    if not 0 <= limit <= MOST_BYTES:
        raise Invalid.at(
            path, f"A limit is a whole number of bytes from 0 (any size) to {MOST_BYTES:,}; {limit} is not."
        )


def percent(part: int, total: int) -> int:
    """`part` in percent of `total`, rounded; 0 of nothing."""
    return round(100 * part / total) if total else 0


def shortened(name: str) -> str:
    """A field's name in at most NAME_CHARACTERS characters, the last of which is … if it was longer."""
    return name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 1] + "…"
