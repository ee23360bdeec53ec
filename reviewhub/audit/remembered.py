"""What the sealer remembers outside the database: the newest seal that it made of each workspace.

A restored backup is whole in itself: no walk through it could find that the newest seals are gone. The memory is a
small file beside the keys, which no backup of the database brings back.
"""

from __future__ import annotations

import json
import os
import secrets
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from reviewhub.audit import keys


@dataclass(frozen=True, kw_only=True)
class Memory:
    """One seal: its number, the SHA-256 of its statement, and when it was made."""

    number: int
    statement: str
    sealed_at: str


def recall(workspace_id: uuid.UUID) -> Memory | None:
    """The newest seal that was made here; None when none was, or when the file cannot be read."""
    try:
        return Memory(**json.loads(_path(workspace_id).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def remember(workspace_id: uuid.UUID, memory: Memory) -> None:
    """Keeps it; the file is whole at any moment."""
    path = _path(workspace_id)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(memory), file)
    draft.rename(path)


def forget(workspace_id: uuid.UUID) -> None:
    """As if no seal had been made here."""
    _path(workspace_id).unlink(missing_ok=True)


def _path(workspace_id: uuid.UUID) -> Path:
    return keys.folder() / "newest" / f"{workspace_id}.json"
