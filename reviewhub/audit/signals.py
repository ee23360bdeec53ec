"""What is known of an event that was just written, and the one signal of the product, sent after its commit.

The signal is a hint within this process: losing it loses nothing, since every reader tails the table. A receiver that
fails is logged and stops nobody else.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.dispatch import Signal


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An event's ids: what `record` returns, and a receiver gets as `event`."""

    id: int
    kind: str
    workspace_id: uuid.UUID
    run_id: uuid.UUID | None
    pause_id: uuid.UUID | None
    request_id: uuid.UUID | None
    agent_id: uuid.UUID | None
    subject_id: uuid.UUID | None


event_recorded = Signal(use_caching=True)
