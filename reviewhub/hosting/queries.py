"""Reads of what hosted-style agents keep."""

from __future__ import annotations

from reviewhub.core.errors import NotFound
from reviewhub.hosting.models import Record
from reviewhub.runs.models import Branch


def record_of(*, branch: Branch, key: str) -> Record:
    """What this branch keeps under `key`. Raises NotFound when it keeps nothing there."""
    row = Record.objects.filter(branch=branch, key=key).first()
    if row is None:
        raise NotFound("Nothing is recorded under this key.")
    return row
