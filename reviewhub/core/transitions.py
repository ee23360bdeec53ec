"""The one way in which a state changes: look, decide, then update only if it is still so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Model

from reviewhub.core.errors import IllegalTransition, StaleState

Edges = Mapping[str, frozenset[str]]


class Stateful(Model):
    """A row with a state."""

    state: Any

    class Meta:
        abstract = True


def move(
    row: Stateful, *, to: str, table: Edges, where: Mapping[str, Any] | None = None, **fields: Any
) -> None:
    """Moves `row` to state `to` in one guarded UPDATE, together with `fields`.

    Args:
        row: as it was read; its state must still be the stored one.
        table: state → the states it may go to.
        where: further conditions of the UPDATE (a deadline, an epoch, a version).

    Raises:
        IllegalTransition: the table has no such edge.
        StaleState: the stored row is no longer as it was read, or `where` does not hold.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a state changes only inside a transaction")
    old = str(row.state)
    if to not in table[old]:
        raise IllegalTransition(f"{row._meta.verbose_name} is {old} and cannot become {to}.", state=old)
    # Any: the abstract model has no columns of its own that the type checker could look `state` up in.
    stored: Any = type(row)._default_manager
    rows = stored.filter(pk=row.pk, state=old, **(where or {}))
    if rows.update(state=to, **fields) != 1:
        raise StaleState(state=old)
    row.state = to
    for name, value in fields.items():
        if not hasattr(value, "resolve_expression"):
            setattr(row, name, value)
