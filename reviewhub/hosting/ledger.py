"""What a process that goes on has to find again: where a branch stands, and what it recorded from a step on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.replay import step_of
from reviewhub_agents.runtime.store import Ledger, Snapshot, WrittenAs, places_of

from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.gates.present import calls_out
from reviewhub.hosting.models import Record
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import ToolCall

PAGE = 100


def snapshot_of(row: Checkpoint) -> Snapshot:
    """A checkpoint with its state, whose hash is checked."""
    schema = row.state_schema
    return Snapshot(
        id=str(row.pk),
        node=row.node,
        step=row.step,
        state=load(row),
        written_as=WrittenAs(name=schema.name, version=schema.version) if schema else None,
    )


def ledger_since(*, branch: Branch, step: int) -> Ledger:
    """The results and calls of step `step` of the run and later."""
    records = {row.key: messages.kept_of(row.value) for row in _records(branch, step)}
    calls = {call.call_id: messages.call_of(call) for call in calls_out(_calls(branch, step))}
    return Ledger(records=records, calls=calls)


def places_since(*, branch: Branch, step: int) -> set[str]:
    """The places of that ledger, in two reads of what is short."""
    return places_of([key for _, key in _keys(branch, step)], [key for _, key in _asked(branch, step)])


def _records(branch: Branch, step: int) -> Iterator[Record]:
    wanted = [pk for pk, _ in _keys(branch, step)]
    rows = Record.objects.order_by("-pk")
    for at in range(0, len(wanted), PAGE):
        yield from rows.filter(pk__in=wanted[at : at + PAGE])


def _keys(branch: Branch, step: int) -> list[tuple[int, str]]:
    """Ids and keys of records, the newest first. Steps only grow, so older rows are not read."""
    found: list[tuple[int, str]] = []
    rows = Record.objects.filter(branch=branch).order_by("-pk").values_list("pk", "key")
    # By pages and not by a cursor of the database, which takes four statements.
    page = list(rows[:PAGE])
    while page:
        found += [(pk, key) for pk, key in page if step_of(key) >= step]
        if len(page) < PAGE or any(0 <= step_of(key) < step for _, key in page):
            break
        page = list(rows.filter(pk__lt=page[-1][0])[:PAGE])
    return found


def _calls(branch: Branch, step: int) -> list[ToolCall]:
    wanted = [pk for pk, _ in _asked(branch, step)]
    rows = ToolCall.objects.order_by("-created_at", "-id")
    parts = (wanted[at : at + PAGE] for at in range(0, len(wanted), PAGE))
    return [row for part in parts for row in rows.filter(pk__in=part)]


def _asked(branch: Branch, step: int) -> list[tuple[uuid.UUID, str]]:
    """Ids and keys of calls. By all of them and not from the newest back: times are of the workers' clocks, which may
    jump.
    """
    places = ToolCall.objects.filter(branch=branch, pause__isnull=False).values_list("pk", "call_id")
    return [(pk, place) for pk, place in places if step_of(place) >= step]
