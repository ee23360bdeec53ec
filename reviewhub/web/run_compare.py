"""Two checkpoints of a run side by side, in the panel of its page."""

from __future__ import annotations

from typing import Any

from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.difference import difference
from reviewhub.checkpoints.load import CheckpointRemoved, CorruptCheckpoint
from reviewhub.gates.set_aside import setting_aside
from reviewhub.web.differing import MOST_BYTES, listed
from reviewhub.web.forms import words
from reviewhub.web.run_lines import Timeline
from reviewhub.web.state_view import schema_of

MOST = 40


def compared(line: Timeline) -> dict[str, Any]:
    """What differs between the chosen checkpoint and the other one, from the older to the newer; 40 values at most."""
    if line.chosen is None or line.other is None:
        return {}
    before, after = sorted((line.chosen, line.other), key=lambda row: (row.created_at, row.pk))
    told: dict[str, Any] = {"before": before, "after_it": after}
    try:
        with setting_aside():
            found = difference(before, after, most=MOST, most_bytes=MOST_BYTES)
    except (CheckpointRemoved, CorruptCheckpoint, BlobsAway) as damage:
        return told | {"compare_errors": words(damage)}
    return told | {"changes": listed(found, schema=schema_of(after)), "more": found.more}
