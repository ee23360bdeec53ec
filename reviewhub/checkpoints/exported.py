"""The states that the record names, for its exports: each with what its hash is made of, and masked as on pages."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any, Final

from reviewhub_agents import canonical

from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint, load_state
from reviewhub.checkpoints.models import Checkpoint, Tombstone
from reviewhub.core.display.masking import masked

NAMED_BY: Final = ("state_hash", "checkpoint")
"""Facts of events that hold the hash of a state."""
REMEMBERED: Final = 10_000
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


class NamedStates:
    """Gives each state once, behind the first event that names it; what was named long ago may come again."""

    def __init__(self) -> None:
        self._given: dict[tuple[uuid.UUID, str], None] = {}

    def __call__(self, run_id: uuid.UUID, body: str) -> Iterator[dict[str, Any]]:
        """The states that an event of a run names in its words (JSON).

        One that is kept has `fields` (the digests that `hash` is made of), `texts` (canonical JSON of each field) and
        `masked` (whose text is not what its digest is of, since something in it is not shown). Of another one `missing`
        says why: removed, damaged, unknown.
        """
        for state_hash in _hashes(body):
            if (run_id, state_hash) in self._given:
                continue
            if len(self._given) >= REMEMBERED:
                del self._given[next(iter(self._given))]
            self._given[run_id, state_hash] = None
            yield {"hash": state_hash, **_told(run_id, state_hash)}


def _hashes(body: str) -> list[str]:
    data: Any = canonical.reread(body)
    data = data.get("data") if isinstance(data, dict) else None
    named = [data.get(name) for name in NAMED_BY] if isinstance(data, dict) else []
    return list(dict.fromkeys(one for one in named if isinstance(one, str) and _HASH.fullmatch(one)))


def _told(run_id: uuid.UUID, state_hash: str) -> dict[str, Any]:
    rows = Checkpoint.objects.filter(run_id=run_id, state_hash=state_hash).select_related("state_schema")
    row = rows.order_by("created_at", "id").first()
    try:
        if row is not None:
            return _shown(row)
    except CheckpointRemoved:
        pass  # just now; its tombstone says so
    except CorruptCheckpoint:
        return {"missing": "damaged"}
    gone = Tombstone.objects.filter(branch__run_id=run_id, state_hash=state_hash)
    return {"missing": "removed" if gone.exists() else "unknown"}


def _shown(row: Checkpoint) -> dict[str, Any]:
    state = load_state(row)
    tree = masked(state.text, row.state_schema.schema if row.state_schema else "")
    assert isinstance(tree, dict)
    texts = {name: canonical.dumps(value) for name, value in tree.items()}
    return {
        "fields": state.digests,
        "masked": [name for name, text in state.fields.items() if texts[name] != text],
        "texts": texts,
    }
