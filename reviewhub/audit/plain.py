"""The record as a table (CSV) or as JSON lines, for spreadsheets and programs; `audit.export` makes what proves itself.

All that fits the filters and was recorded before the export began, sealed or not, the oldest first, written as it is
read. What has a secret's shape or stands under a key named like one is masked once more on its way out.
"""

from __future__ import annotations

import csv
import io
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reviewhub_agents import canonical
from reviewhub_agents.canonical import BadJson

from reviewhub.audit.export import Bundle
from reviewhub.audit.kinds import AuditListed
from reviewhub.audit.models import Event
from reviewhub.audit.progress import Progress
from reviewhub.audit.queries import OLDEST_FIRST, Filters, filtered, newer
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display import secrets
from reviewhub.core.display.masking import masked
from reviewhub.core.errors import Invalid

BATCH: Final = 1000
COLUMNS: Final = (
    "id",
    "at",
    "kind",
    "what_happened",
    "actor_kind",
    "actor_id",
    "actor",
    "source",
    "ip",
    "http_request",
    "tool",
    "digest",
    "policy_version",
    "checkpoint",
    "run_id",
    "request_id",
    "agent_id",
    "subject_id",
    "position",
    "leaf",
    "erased_at",
    "arguments",
    "data",
)
# What a spreadsheet takes for the beginning of a formula; also the wide forms, and behind what some take for the end
# of a cell.
_FORMULA: Final = re.compile(r"(^|[,;|\t\r\n])(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r])")
_LINE_ENDS: Final = {"\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"}


def export_plain(
    *, workspace_id: uuid.UUID, workspace: str, actor: Actor, filters: Filters, words: str, form: str
) -> Bundle:
    """The entries that fit, as `csv` or `jsonl`.

    Recorded before the first line is made. Must run in a transaction; the lines may be made after it.

    Args:
        workspace: its name in addresses; the file is called after it and the time that it is about.
        words: the filters for people; recorded.

    Raises:
        Invalid: there is no such form.
    """
    if form not in FORMS:
        raise Invalid.at("/form", f"One of {', '.join(FORMS)}; {form[:20]!r} was given.")
    listed = record(
        "audit.listed",
        workspace_id=workspace_id,
        actor=actor,
        data=AuditListed(form=form, filters=words),
    )
    # SQLite tells whole milliseconds, and a bound is no part of its span: what has the same time was before by its id.
    until = Event.objects.values_list("at", flat=True).get(pk=listed.id) + timedelta(milliseconds=1)
    if filters.until is not None:
        until = min(until, filters.until)
    name = _file(workspace, filters, until, form)
    progress = Progress()
    entries = entries_of(workspace_id, replace(filters, until=until), progress, before=listed.id)
    return Bundle(name=name, lines=FORMS[form](entries), progress=progress)


def _file(workspace: str, filters: Filters, until: datetime, form: str) -> str:
    """What the file is called: `record-demo-until-2026-12-01.csv`, with the days of UTC that it is about."""
    last = (until - timedelta(milliseconds=2)).astimezone(UTC)
    since = f"from-{filters.since.astimezone(UTC):%Y-%m-%d}-" if filters.since else ""
    return f"record-{workspace}-{since}until-{last:%Y-%m-%d}.{form}"


def entries_of(
    workspace_id: uuid.UUID, filters: Filters, progress: Progress | None = None, *, before: int | None = None
) -> Iterator[dict[str, Any]]:
    """The entries that fit, the oldest first, as they go out; by their times one sees how many are left.

    Args:
        before: the id of an event: only what was recorded before it.
    """
    rows = filtered(Event.objects.filter(workspace_id=workspace_id), filters, workspace_id)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    left = rows.select_related("payload", "sealed").order_by(*OLDEST_FIRST)
    first: datetime | None = None
    while batch := list(left[:BATCH]):
        for event in batch:
            first = first or event.at
            if progress and filters.until:
                progress.wrote((event.at - first) / max(filters.until - first, timedelta(microseconds=1)))
            yield _entry(event)
        left = newer(left, batch[-1].at, batch[-1].pk)


def _entry(event: Event) -> dict[str, Any]:
    payload = event.payload
    said: Any = masked(payload.body) if payload.body else {}
    actor, data = said.get("actor", {}), said.get("data", {})
    sealed = getattr(event, "sealed", None)
    return {
        "id": event.pk,
        "at": _time(event.at),
        "kind": event.kind,
        "what_happened": secrets.masked(payload.sentence),
        "actor_kind": event.actor_kind,
        "actor_id": _id(event.actor_id),
        "actor": secrets.masked(payload.actor_name),
        "source": actor.get("source", ""),
        "ip": actor.get("ip", ""),
        "http_request": actor.get("http_request", ""),
        "tool": event.tool,
        "digest": data.get("digest", data.get("new_digest", "")),
        "policy_version": data.get("policy_version"),
        "checkpoint": data.get("checkpoint", data.get("state_hash", "")),
        "run_id": _id(event.run_id),
        "request_id": _id(event.request_id),
        "agent_id": _id(event.agent_id),
        "subject_id": _id(event.subject_id),
        "position": sealed.position if sealed else None,
        "leaf": bytes(event.leaf).hex(),
        "erased_at": _time(payload.erased_at) if payload.erased_at else None,
        "arguments": _arguments(payload.arguments),
        "data": data,
    }


def _arguments(text: str) -> Any:
    """Those with which a call, or a version of it, came; as text where only their beginning is kept."""
    try:
        return masked(text) if text else None
    except BadJson:
        return secrets.masked(text)


def _csv(entries: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    yield _row(list(COLUMNS))
    for entry in entries:
        yield _row([cell(entry[name]) for name in COLUMNS])


def cell(value: Any) -> str:
    """A value as text that no spreadsheet runs: an apostrophe stands before whatever could begin a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical.dumps(value)
    text = "".join(" " if character in _LINE_ENDS else character for character in text)
    return _FORMULA.sub(r"\1'", text)


def _row(cells: list[str]) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(cells)
    return written.getvalue().encode()


def _jsonl(entries: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    for entry in entries:
        yield canonical.dumps(entry).encode() + b"\n"


def _id(value: uuid.UUID | None) -> str | None:
    return None if value is None else str(value)


def _time(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


FORMS: Final[dict[str, Callable[[Iterator[dict[str, Any]]], Iterator[bytes]]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
}
