"""Who changed a value, and where it came and went, as the API shows it: in pieces that each come in time."""

from __future__ import annotations

import uuid
from typing import Any

from reviewhub_agents import wire

from reviewhub.checkpoints.blame import Blamed
from reviewhub.checkpoints.find import Found, SoFar
from reviewhub.checkpoints.load import CheckpointRemoved
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import in_run
from reviewhub.checkpoints.walk import Rest
from reviewhub.core import keyset
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.gates.present_runs import checkpoint_out


def blame_out(path: str, found: Blamed) -> wire.BlameOut:
    """Which checkpoint last changed the value at `path`."""
    fields: dict[str, Any] = {"path": path, **_rest(found.rest)}
    if found.checkpoint is not None:
        fields["checkpoint"] = checkpoint_out(found.checkpoint)
    return wire.BlameOut(**fields)


def find_out(found: Found) -> wire.FindOut:
    """Where a value came, and where it went."""
    sides = {"introduced": found.introduced, "lost": found.lost}
    fields: dict[str, Any] = {name: checkpoint_out(row) for name, row in sides.items() if row is not None}
    return wire.FindOut(**fields, **_rest(found.rest, found.introduced, found.lost))


def _rest(rest: Rest | None, *known: Checkpoint | None) -> dict[str, Any]:
    """What was not looked at; the cursor carries on what is known so far."""
    if rest is None:
        return {}
    ids: list[str | int] = [str(row.pk) if row else "" for row in (rest.last, *known)]
    return {"before": keyset.write(ids), "looked_at": rest.looked_at, "of": rest.of}


def blame_after(run_id: uuid.UUID, before: str) -> Checkpoint | None:
    """Where a look before had to end. Raises Invalid for what is no `before` of a look in this run."""
    known = _known(run_id, before, length=1)
    return known[0] if known else None


def find_after(run_id: uuid.UUID, before: str) -> SoFar | None:
    """The same, and what it had found."""
    known = _known(run_id, before, length=3)
    if known is None or known[0] is None:
        return None
    return SoFar(last=known[0], introduced=known[1], lost=known[2])


def _known(run_id: uuid.UUID, before: str, *, length: int) -> list[Checkpoint | None] | None:
    if not before:
        return None
    wrong = Invalid.at("/before", "is not that of an answer about this run; begin again without one")
    try:
        parts = keyset.read(before, length=length)
        ids = [uuid.UUID(part) if part else None for part in parts]
    except (Invalid, ValueError, TypeError, AttributeError) as error:
        raise wrong from error
    if ids[0] is None:
        raise wrong
    try:
        return [in_run(run_id, one) if one else None for one in ids]
    except (NotFound, CheckpointRemoved) as error:
        raise wrong from error
