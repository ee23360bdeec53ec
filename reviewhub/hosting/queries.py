"""Reads of what hosted-style agents keep."""

from __future__ import annotations

from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.hosting.models import Record
from reviewhub.runs.models import Branch

PAGE = 100


def record_of(*, branch: Branch, key: str) -> Record:
    """What this branch keeps under `key`. Raises NotFound when it keeps nothing there."""
    row = one_or_none(Record.objects.filter(branch=branch, key=key))
    if row is None:
        raise NotFound("Nothing is recorded under this key.")
    return row


def records_of(*, branch: Branch, cursor: str) -> Page[Record]:
    """What a branch keeps, the newest first. Raises Invalid for a cursor of another list."""
    rows = Record.objects.filter(branch=branch)
    if cursor:
        (last,) = keyset.read(cursor, length=1)
        if type(last) is not int:
            raise keyset.bad_cursor()
        rows = rows.filter(pk__lt=last)
    return keyset.cut(list(rows.order_by("-pk")[: PAGE + 1]), limit=PAGE, key=lambda row: [row.pk])
