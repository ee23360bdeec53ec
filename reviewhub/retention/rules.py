"""Which checkpoints go: decided on plain values. Pure.

A limit that is set takes checkpoints away, and a checkpoint goes when any limit takes it. What is pinned stays, and so
does whatever a checkpoint that stays stands on: the rows from its `base` to itself. So everything that stays can be
read as before, to the byte, without a row being written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from reviewhub_agents import canonical

DAY = 86_400
_SAYS = {
    "keep_last": "keep the last {} of each branch",
    "max_age_days": "keep for {} days",
    "thin_days": "thin after {} days",
    "decided_days": "keep only what people decided on {} days after the end",
    "delete_days": "delete {} days after the end",
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long is kept; None is no limit. Days are whole days of 86,400 s."""

    keep_last: int | None = None
    """So many of the newest of each branch stay, at most."""
    max_age_days: int | None = None
    """Older ones go."""
    thin_days: int | None = None
    """Of older ones only the manifests stay: rows that stand alone."""
    decided_days: int | None = None
    """So long after the end of the run, only what people decided on stays, and the last of each branch."""
    delete_days: int | None = None
    """So long after the end of the run, everything goes but what something open still needs."""

    @property
    def text(self) -> str:
        """The limits that are set, as canonical JSON text."""
        return canonical.dumps({name: limit for name, limit in asdict(self).items() if limit is not None})

    @property
    def words(self) -> str:
        """The same for people."""
        told = [
            says.format(getattr(self, name))
            for name, says in _SAYS.items()
            if getattr(self, name) is not None
        ]
        return "; ".join(told) or "keep everything"


@dataclass(frozen=True)
class Row:
    """One checkpoint of a branch. `age` in seconds.

    `pinned`: stays until the whole run goes (heads, branch points, what people decided on). `needed`: stays whatever a
    rule says (something open stands on it, or somebody pinned it).
    """

    number: int
    base: int
    age: float
    pinned: bool = False
    needed: bool = False


def going(rows: Sequence[Row], limits: Limits, *, ended: float | None) -> list[int]:
    """The numbers of the rows of one branch that go, the highest first.

    Taken away in this order the rest can be read at every moment, for rows stand on lower ones only.

    Args:
        rows: all of the branch that are there.
        ended: seconds since the run ended; None while it has not.
    """
    if _is_over(limits.delete_days, ended):
        kept = [row for row in rows if row.needed]
    else:
        kept = _kept(rows, limits, decided_only=_is_over(limits.decided_days, ended))
    stays = {number for row in kept for number in range(row.base, row.number + 1)}
    return sorted((row.number for row in rows if row.number not in stays), reverse=True)


def longest(one: Limits, other: Limits) -> Limits:
    """Of each limit the one that keeps longer: how a class that an agent names may change what an admin set."""
    return Limits(
        **{each.name: _longer(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)}
    )


def effective(found: Iterable[tuple[bool, bool, Limits]], *, default: Limits) -> Limits:
    """The limits for one run.

    Args:
        found: the rules that are about it: (names its agent, names its class, limits).
        default: for a workspace without a rule.
    """
    by = {(of_agent, of_class): limits for of_agent, of_class, limits in found}
    base = by.get((True, False)) or by.get((False, False)) or default
    named = by.get((True, True)) or by.get((False, True))
    return longest(base, named) if named else base


def cost(sizes: Mapping[str, int], prices: Mapping[str, float]) -> float:
    """Money a month for bytes in each tier. A tier without a price costs nothing.

    Args:
        sizes: tier → bytes.
        prices: tier → price of 1,000,000,000 bytes a month.
    """
    return sum(size / 1e9 * prices.get(tier, 0.0) for tier, size in sizes.items())


def _kept(rows: Sequence[Row], limits: Limits, *, decided_only: bool) -> list[Row]:
    last = max((row.number for row in rows), default=0)
    newest = {row.number for row in sorted(rows, key=lambda row: -row.number)[: limits.keep_last]}
    return [
        row
        for row in rows
        if row.pinned
        or row.needed
        or row.number == last
        or (row.number in newest and not decided_only and not _is_old(row, limits))
    ]


def _is_old(row: Row, limits: Limits) -> bool:
    if _is_over(limits.max_age_days, row.age):
        return True
    return row.base != row.number and _is_over(limits.thin_days, row.age)


def _is_over(days: int | None, seconds: float | None) -> bool:
    return days is not None and seconds is not None and seconds >= days * DAY


def _longer(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
