"""Reads of what hosted-style agents keep."""

from __future__ import annotations

from collections.abc import Iterator

from reviewhub_agents.runtime.replay import step_of

from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.hosting.models import Record
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall

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


def records_since(*, branch: Branch, step: int) -> Iterator[Record]:
    """What a branch kept in step `step` of its run and later. Steps only grow, so older rows are not read."""
    for row in Record.objects.filter(branch=branch).order_by("-pk").iterator(chunk_size=PAGE):
        if 0 <= step_of(row.key) < step:
            return
        if step_of(row.key) >= step:
            yield row


def calls_since(*, branch: Branch, step: int) -> list[ToolCall]:
    """The calls that a branch asked for in step `step` of its run and later."""
    # By all places and not from the newest back: times are of the workers' clocks, which may jump.
    places = ToolCall.objects.filter(branch=branch, pause__isnull=False).values_list("pk", "call_id")
    wanted = [pk for pk, place in places.iterator(chunk_size=PAGE) if step_of(place) >= step]
    rows = ToolCall.objects.order_by("-created_at", "-id")
    parts = (wanted[at : at + PAGE] for at in range(0, len(wanted), PAGE))
    return [row for part in parts for row in rows.filter(pk__in=part)]
