"""Exports of the sealed record that prove themselves: JSON lines, written as they are read, never all in memory.

The first line says what it is, the last one signs all before it; between them each seal stands before its events. A
range has whole seals with all their events. A selection has the events that fit some filters, each with its path to the
root of its seal. The states of checkpoints that an event names stand behind it, if they are asked for.
`reviewhub_agents/verify_audit.py` checks all of it; docs/audit.md has the format.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Max, Min

from reviewhub.audit import keys, merkle
from reviewhub.audit.kinds import AuditExported
from reviewhub.audit.models import Event, Position, Seal, SealKey
from reviewhub.audit.progress import Progress
from reviewhub.audit.queries import Filters, filtered
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, NotFound

FORMAT: Final = "reviewhub record 1"
BATCH: Final = 500
_END: Final = b"reviewhub bundle 1\n"
_WORDS: Final = ("id", "kind", "at", "leaf", "payload__salt", "payload__body", "payload__erased_at")
States = Callable[[uuid.UUID, str], Iterator[dict[str, Any]]]
"""Gives the states that an event of a run names in its words (JSON), as the lines of a bundle have them."""


class NotSealed(Conflict):
    """Nothing of this is sealed yet; sealing takes some seconds."""

    code = "not_sealed"


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An export that may begin: what it is called, its lines, and how many of them were made."""

    name: str
    lines: Iterator[bytes]
    progress: Progress = field(default_factory=Progress)


def export_range(
    *,
    workspace_id: uuid.UUID,
    actor: Actor,
    since: datetime | None = None,
    until: datetime | None = None,
    states: States | None = None,
) -> Bundle:
    """Whole seals: all that have an event from `since` (included) to `until` (not), and those between them.

    Recorded before the first line is made. Must run in a transaction; the lines may be made after it.

    Args:
        states: gives the states that events name, which are then in the bundle.

    Raises:
        NotSealed: there is no such seal.
        KeyMissing: the key is not there, so nothing can be signed.
    """
    seals = Seal.objects.filter(workspace_id=workspace_id)
    begin, end = seals, seals
    if since:
        begin = begin.filter(latest__gte=since)
    if until:
        end = end.filter(earliest__lt=until)
    first = begin.order_by("number").first()
    last = end.order_by("-number").first()
    if first is None or last is None or last.number < first.number:
        raise NotSealed
    signer = _signer()
    said = AuditExported(
        first_seal=first.number, last_seal=last.number, filters="", states=states is not None
    )
    record("audit.exported", workspace_id=workspace_id, actor=actor, data=said)
    anchor = seals.filter(number=first.number - 1).first()
    writer = _Writer(workspace_id, signer, "range", anchor, states)
    name = f"record-seals-{first.number}-{last.number}.jsonl"
    lines = _range(writer, workspace_id, first, last)
    return Bundle(name=name, lines=writer.whole(lines), progress=writer.progress)


def export_selection(
    *, workspace_id: uuid.UUID, actor: Actor, filters: Filters, words: str, states: States | None = None
) -> Bundle:
    """The sealed events that fit the filters.

    Args:
        words: the filters for people; recorded.
        states: as of a range.

    Raises:
        NotSealed: no sealed event fits.
        KeyMissing: the key is not there, so nothing can be signed.
    """
    rows = filtered(Event.objects.filter(workspace_id=workspace_id), filters, workspace_id)
    return _selection(workspace_id, rows, actor, words, "record-selection.jsonl", states)


def export_one(*, workspace_id: uuid.UUID, actor: Actor, event_id: int) -> Bundle:
    """The proof of one event.

    Raises:
        NotFound: there is no such event in this workspace.
        NotSealed: it is not sealed yet.
        KeyMissing: the key is not there, so nothing can be signed.
    """
    rows = Event.objects.filter(workspace_id=workspace_id, pk=event_id)
    if not rows.exists():
        raise NotFound
    return _selection(workspace_id, rows, actor, f"event {event_id}", f"record-event-{event_id}.jsonl")


def _selection(
    workspace_id: uuid.UUID, rows: Any, actor: Actor, words: str, name: str, states: States | None = None
) -> Bundle:
    rows = rows.filter(sealed__isnull=False)
    if not rows.exists():
        raise NotSealed
    signer = _signer()
    said = AuditExported(first_seal=0, last_seal=0, filters=words, states=states is not None)
    record("audit.exported", workspace_id=workspace_id, actor=actor, data=said)
    writer = _Writer(workspace_id, signer, "selection", None, states)
    lines = writer.whole(_chosen(writer, workspace_id, rows))
    return Bundle(name=name, lines=lines, progress=writer.progress)


def _signer() -> str:
    """The newest key; raises KeyMissing before a line is made."""
    public = keys.newest().public
    keys.sign(public, b"")
    return public


class _Writer:
    """Writes lines and hashes what it wrote."""

    def __init__(
        self,
        workspace_id: uuid.UUID,
        signer: str,
        kind: str,
        anchor: Seal | None,
        states: States | None = None,
    ) -> None:
        self._states = states
        self._hashed = hashlib.sha256()
        self.progress = Progress()
        self._lines = 0
        self._signer = signer
        self._header = {
            "anchor": _seal(anchor) if anchor else None,
            "bundle": FORMAT,
            "key": signer,
            "keys": list(SealKey.objects.order_by("number").values_list("public", flat=True)),
            "kind": kind,
            "made_at": _time(clock.now()),
            "workspace": str(workspace_id),
        }

    def whole(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The bundle: header, lines, end."""
        yield self.line("header", self._header)
        yield from lines
        digest = self._hashed.digest()
        yield self.line(
            "end",
            {
                "key": self._signer,
                "lines": self._lines,
                "sha256": digest.hex(),
                "signature": keys.sign(self._signer, _END + digest).hex(),
            },
        )

    def event(self, event: dict[str, Any], run_id: uuid.UUID | None) -> Iterator[bytes]:
        """An event, and the states that it names, if they are asked for."""
        yield self.line("event", event)
        if self._states is not None and run_id is not None and "body" in event:
            for state in self._states(run_id, event["body"]):
                yield self.line("state", state)

    def line(self, name: str, value: dict[str, Any]) -> bytes:
        """One line, which counts from now on."""
        text = json.dumps({name: value}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        made = text.encode() + b"\n"
        self._hashed.update(made)
        self._lines += 1
        return made


def _range(writer: _Writer, workspace_id: uuid.UUID, first: Seal, last: Seal) -> Iterator[bytes]:
    for number in range(first.number, last.number + 1):
        seal = Seal.objects.get(workspace_id=workspace_id, number=number)
        yield writer.line("seal", _seal(seal))
        begin = seal.first
        while begin <= seal.last:
            end = min(begin + BATCH - 1, seal.last)
            rows = Position.objects.filter(workspace_id=workspace_id, position__gte=begin, position__lte=end)
            named = ("event__run_id", "position", *(f"event__{one}" for one in _WORDS))
            for run_id, *row in rows.order_by("position").values_list(*named):
                writer.progress.wrote((row[0] - first.first + 1) / (last.last - first.first + 1))
                yield from writer.event(_event(*row), run_id)
            begin = end + 1


def _chosen(writer: _Writer, workspace_id: uuid.UUID, rows: Any) -> Iterator[bytes]:
    after, seal, paths = 0, None, merkle.Paths([])
    ends = rows.aggregate(first=Min("sealed__position"), last=Max("sealed__position"))
    first, last = ends["first"] or 0, ends["last"] or 0
    while True:
        batch = list(
            rows.filter(sealed__position__gt=after)
            .order_by("sealed__position")
            .values_list("run_id", "sealed__position", *_WORDS)[:BATCH]
        )
        for run_id, *row in batch:
            after = row[0]
            if seal is None or after > seal.last:
                seal = seal_of(workspace_id, after)
                paths = paths_of(seal)
                yield writer.line("seal", _seal(seal))
            writer.progress.wrote((after - first + 1) / (last - first + 1))
            path = [step.hex() for step in paths.of(after - seal.first)]
            yield from writer.event({**_event(*row), "path": path}, run_id)
        if len(batch) < BATCH:
            return


def seal_of(workspace_id: uuid.UUID, position: int) -> Seal:
    """The seal that a position is in."""
    rows = Seal.objects.filter(workspace_id=workspace_id, last__gte=position)
    return rows.order_by("last")[:1].get()


def paths_of(seal: Seal) -> merkle.Paths:
    """The tree of a seal, from the leaves as they are in the database."""
    places = Position.objects.filter(
        workspace_id=seal.workspace_id, position__gte=seal.first, position__lte=seal.last
    )
    return merkle.Paths(
        [bytes(leaf) for leaf in places.order_by("position").values_list("event__leaf", flat=True)]
    )


def _seal(seal: Seal) -> dict[str, Any]:
    return {"signature": bytes(seal.signature).hex(), "statement": seal.statement}


def _event(
    position: int,
    event_id: int,
    kind: str,
    at: datetime,
    leaf: bytes,
    salt: bytes,
    body: str,
    erased_at: datetime | None,
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "at": _time(at),
        "id": event_id,
        "kind": kind,
        "leaf": bytes(leaf).hex(),
        "position": position,
    }
    if erased_at is not None:
        return {**said, "erased_at": _time(erased_at)}
    return {**said, "body": body, "salt": bytes(salt).hex()}


def _time(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
