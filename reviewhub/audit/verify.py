"""Checking a workspace's whole record in the database: the first place where it is not what was sealed.

It walks by position in bounded batches, and computes everything again: each leaf from its words (where these are not
erased), the columns that pages search by, chain, roots and signatures. Keys are those of the keys' folder, not of the
database. docs/audit.md says what this shows and what it cannot.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Max

from reviewhub.audit import keys, merkle, remembered, statement
from reviewhub.audit.feed import is_after
from reviewhub.audit.leaf import leaf_hash, payload_hash
from reviewhub.audit.models import Chain, Event, Position, Seal, SealKey
from reviewhub.audit.record import MAX_ACTOR_NAME, MAX_TOOL
from reviewhub.audit.seal import is_there

BATCH: Final = 2000
_IDS: Final = 20_000
_FIELDS: Final = (
    "position",
    "chain",
    "event_id",
    "event__workspace_id",
    "event__kind",
    "event__at",
    "event__leaf",
    "event__actor_kind",
    "event__actor_id",
    "event__tool",
    "event__run_id",
    "event__pause_id",
    "event__request_id",
    "event__agent_id",
    "event__subject_id",
    "event__payload__salt",
    "event__payload__actor_name",
    "event__payload__sentence",
    "event__payload__body",
    "event__payload__erased_at",
    "event__payload__arguments",
)
_REFS: Final = ("run_id", "pause_id", "request_id", "agent_id", "subject_id")


@dataclass(frozen=True, kw_only=True)
class Broken:
    """The first place that is not as it was sealed."""

    what: str
    seal: int | None = None
    position: int | None = None
    event: int | None = None

    def __str__(self) -> str:
        places = {"seal": self.seal, "position": self.position, "event": self.event}
        where = ", ".join(f"{name} {number}" for name, number in places.items() if number is not None)
        return f"{where}: {self.what}" if where else self.what


@dataclass(frozen=True, kw_only=True)
class Verified:
    """How far the walk came; `broken` is None when everything is as it was sealed."""

    seals: int
    events: int
    erased: int
    waiting: int
    broken: Broken | None


class _Found(Exception):
    """Something is broken; its argument says what."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(str(broken))
        self.broken = broken


def verify(
    workspace_id: uuid.UUID,
    *,
    trusted: frozenset[str] = frozenset(),
    progress: Callable[[int], None] = lambda events: None,
) -> Verified:
    """Walks through the record of a workspace.

    Args:
        trusted: public keys whose seals count; without any, those of the keys' folder.
        progress: called after each batch with how many events were looked at.
    """
    walk = _Walk(workspace_id, trusted or frozenset(keys.in_folder()), progress)
    try:
        walk.go()
        broken = None
    except _Found as found:
        broken = found.broken
    return Verified(
        seals=walk.seals, events=walk.events, erased=walk.erased, waiting=walk.waiting, broken=broken
    )


class _Walk:
    def __init__(
        self, workspace_id: uuid.UUID, trusted: frozenset[str], progress: Callable[[int], None]
    ) -> None:
        self.workspace_id = workspace_id
        self.trusted = trusted
        self.progress = progress
        self.seals = self.events = self.erased = self.waiting = 0
        self.chain = statement.START
        self.previous = ""
        self.key = ""
        # What was sealed when the walk began; the sealer may go on meanwhile.
        self.memory = remembered.recall(workspace_id)
        self.head = Chain.objects.filter(pk=workspace_id).first() or Chain(workspace_id=workspace_id)
        self.last = (
            Position.objects.filter(workspace_id=workspace_id).aggregate(last=Max("position"))["last"] or 0
        )

    def go(self) -> None:
        """All of it; raises _Found."""
        for seal in self._all_seals():
            self._seal(seal)
        if self.events < self.last:
            raise _Found(Broken(position=self.events + 1, what="the position is in no seal"))
        self._no_event_without_a_place()
        if self.memory and not is_there(self.workspace_id, self.memory):
            what = (
                f"the seal that was made at {self.memory.sealed_at} is not in the database any more:"
                " a restored backup, or rows were removed"
            )
            raise _Found(Broken(seal=self.memory.number, what=what))

    def _all_seals(self) -> Iterator[Seal]:
        while True:
            rows = Seal.objects.filter(
                workspace_id=self.workspace_id, number__gt=self.seals, last__lte=self.last
            ).order_by("number")
            batch = list(rows[:BATCH])
            if not batch:
                return
            yield from batch

    def _seal(self, seal: Seal) -> None:
        number = self.seals + 1

        def wrong(what: str) -> _Found:
            return _Found(Broken(seal=number, what=what))

        if seal.number != number:
            raise wrong("the seal is missing")
        try:
            said = statement.read(seal.statement)
        except ValueError as error:
            raise wrong("the statement cannot be read") from error
        if not keys.is_signed(said.key, statement.signed(seal.statement), bytes(seal.signature)):
            raise wrong("the signature is not that of the statement")
        if said.key not in self.trusted:
            raise wrong(f"the key {keys.short(said.key)} is not one of the trusted ones")
        columns = (str(seal.workspace_id), seal.number, seal.first, seal.last)
        if columns != (said.workspace, said.number, said.first, said.last):
            raise wrong("the row says something else than its statement")
        if said.previous != self.previous:
            raise wrong("the statement before is another one")
        if said.first != self.events + 1:
            raise wrong(f"begins at position {said.first} instead of {self.events + 1}")
        if self.key and said.key != self.key and not self._took_over(said.key):
            raise wrong(f"signed by {keys.short(said.key)}; it was the turn of {keys.short(self.key)}")
        tree = self._events(said)
        if tree.root().hex() != said.root:
            raise wrong("the root over its leaves is another one")
        if self.chain.hex() != said.chain:
            raise wrong("the chain ends in another value")
        self.seals = number
        self.previous = statement.digest(seal.statement)
        self.key = said.next or said.key

    def _took_over(self, key: str) -> bool:
        return SealKey.objects.filter(public=key, lost=self.key).exists()

    def _events(self, said: statement.Statement) -> merkle.Growing:
        tree = merkle.Growing()
        while self.events < said.last:
            end = min(self.events + BATCH, said.last)
            rows = list(
                Position.objects.filter(
                    workspace_id=self.workspace_id, position__gt=self.events, position__lte=end
                )
                .order_by("position")
                .values_list(*_FIELDS)
            )
            for row in rows:
                if row[0] != self.events + 1:
                    break
                self._event(row, said.number)
                tree.add(bytes(row[6]))
            if self.events < end:
                raise _Found(self._why_missing(self.events + 1, said.number))
            self.progress(self.events)
        return tree

    def _event(self, row: tuple[Any, ...], number: int) -> None:
        position, chain, event_id, workspace_id = row[:4]
        leaf = bytes(row[6])
        if (what := _wrong_words(row)) or workspace_id != self.workspace_id:
            what = what or "the event belongs to another workspace"
            raise _Found(Broken(seal=number, position=position, event=event_id, what=what))
        self.chain = statement.link(self.chain, position, leaf)
        if self.chain != bytes(chain):
            what = "the chain does not fit: the leaf or the position is not the one that was sealed"
            raise _Found(Broken(seal=number, position=position, event=event_id, what=what))
        self.events = position
        self.erased += row[19] is not None

    def _why_missing(self, position: int, number: int) -> Broken:
        place = Position.objects.filter(workspace_id=self.workspace_id, position=position).first()
        if place is None:
            return Broken(seal=number, position=position, what="the position is missing")
        there = Event.objects.filter(pk=place.event_id).exists()
        what = "the event is in another place" if there else "the event is missing"
        return Broken(seal=number, position=position, event=place.event_id, what=what)

    def _no_event_without_a_place(self) -> None:
        """Whatever is older than the sealer's place has a position; what is newer waits."""
        rows = Event.objects.filter(workspace_id=self.workspace_id)
        after = is_after(self.head.xid, self.head.event_id)
        start: int | None = None
        while True:
            part = rows if start is None else rows.filter(id__gt=start)
            ends = part.order_by("id").values_list("id", flat=True)[_IDS - 1 : _IDS]
            end = next(iter(ends), None)
            mine = (part if end is None else part.filter(id__lte=end)).filter(sealed__isnull=True)
            self.waiting += mine.filter(after).count()
            extra = mine.exclude(after).order_by("id").first()
            if extra is not None:
                what = "the event was put in later: it is older than what is sealed, and has no position"
                raise _Found(Broken(event=extra.pk, what=what))
            if end is None:
                return
            start = end


def _wrong_words(row: tuple[Any, ...]) -> str:
    """What an event says against its leaf, and its columns against what it says; "" when all fit."""
    workspace_id, kind, at, leaf = row[3], row[4], row[5], bytes(row[6])
    if row[15] is None:
        return "the event's words are missing"
    salt, name, sentence, body, erased_at = bytes(row[15]), *row[16:20]
    if erased_at is not None:
        return "" if not (salt or name or sentence or body or row[20]) else "called erased, but it has words"
    try:
        payload = payload_hash(salt=salt, body=body)
    except ValueError:
        return "the salt does not have 16 bytes"
    if leaf_hash(workspace_id=workspace_id, kind=kind, at=at, payload=payload) != leaf:
        return "the leaf is not that of the event's kind, time and words"
    said = json.loads(body)
    actor = said["actor"]
    who = (actor["kind"], actor["id"], actor["name"][:MAX_ACTOR_NAME], said["sentence"])
    if (row[7], _text(row[8]), name, sentence) != who:
        return "the columns of who did what are not what the event says"
    refs = {name: str(value) for name, value in zip(_REFS, row[10:15], strict=True) if value is not None}
    if refs != said["refs"] or row[9] != str(said["data"].get("tool") or "")[:MAX_TOOL]:
        return "the columns of what it is about are not what the event says"
    return ""


def _text(value: uuid.UUID | None) -> str | None:
    return None if value is None else str(value)
