"""Sealing: events get their places in the chain, and a signed statement says so.

One transaction makes one seal, of at most BATCH events, under the lock of the workspace's row in `audit_chain`: a
sealer that is killed leaves nothing half, and two never interleave. Only events that nothing can overtake any more are
sealed, in the order of the feed (`audit.feed`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from reviewhub_agents import canonical

from reviewhub.audit import keys, merkle, remembered, statement
from reviewhub.audit.feed import is_after, settled
from reviewhub.audit.horizon import horizon
from reviewhub.audit.kinds import SetBack
from reviewhub.audit.models import Chain, Event, EventPayload, Position, Seal, SealKey
from reviewhub.audit.record import record
from reviewhub.core import clock, faults
from reviewhub.core.actors import SYSTEM
from reviewhub.core.sweeps import each

BATCH: Final = 2000
ROTATED: Final = "audit.key_rotated"
_WAITS: Final = (
    "SELECT 1 FROM audit_event e WHERE e.workspace_id = audit_chain.workspace_id"
    " AND (e.xid, e.id) > (audit_chain.xid, audit_chain.event_id)"
)


@dataclass(frozen=True, kw_only=True)
class Tip:
    """The end of a workspace's chain, from its newest seal: what the next one stands on."""

    number: int
    last: int
    chain: bytes
    previous: str
    key: str

    @classmethod
    def of(cls, workspace_id: uuid.UUID) -> Tip:
        """The tip as it is; before the first seal, the newest key signs."""
        seal = Seal.objects.filter(workspace_id=workspace_id).order_by("-number").first()
        if seal is None:
            return cls(number=0, last=0, chain=statement.START, previous="", key=keys.newest().public)
        said = statement.read(seal.statement)
        return cls(
            number=seal.number,
            last=seal.last,
            chain=bytes.fromhex(said.chain),
            previous=statement.digest(seal.statement),
            key=said.next or said.key,
        )


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """An event that is to be sealed."""

    id: int
    xid: int
    at: datetime
    kind: str
    leaf: bytes


def seal_all() -> int:
    """Seals what waits in every workspace; how many events. One without its key waits on, and its row says why."""
    return each(seal_workspace, due())


def seal_workspace(workspace_id: uuid.UUID) -> int:
    """Seals all that waits in one workspace; how many events."""
    count = 0
    try:
        keys.newest()  # outside of the transactions below: its file would outlive one that is rolled back
        _notice_what_is_gone(workspace_id)
        while made := seal(workspace_id):
            count += made.events
    except (keys.KeyMissing, OSError) as error:
        said = error.message if isinstance(error, keys.KeyMissing) else f"The keys' folder: {error.strerror}."
        Chain.objects.filter(pk=workspace_id).exclude(problem=said).update(problem=said)
    return count


@dataclass(frozen=True)
class Made:
    """What one transaction did: it sealed so many events, or (0) only went on past some that have their places."""

    events: int


def seal(workspace_id: uuid.UUID, *, batch: int = BATCH) -> Made | None:
    """Makes the next seal of a workspace; None when nothing waits, or another sealer is at it.

    Raises:
        KeyMissing: the key that has to sign is not there. Nothing was sealed.
    """
    with transaction.atomic():
        head = Chain.objects.select_for_update(skip_locked=True).filter(pk=workspace_id).first()
        if head is None:
            return None
        found = _after(head, batch)
        if not found:
            return None
        waiting = _without_places(workspace_id, found)
        memory = _put(workspace_id, waiting) if waiting else None
        end = waiting[-1] if waiting else found[-1]
        Chain.objects.filter(pk=head.pk).update(xid=end.xid, event_id=end.id, problem="")
        faults.point("seal.before_commit")
    faults.point("seal.after_commit")
    if memory:
        remembered.remember(workspace_id, memory)
    return Made(len(waiting))


def due() -> list[uuid.UUID]:
    """The workspaces in which something waits, or something stands in the way; those without a chain get its row."""
    known = set(Chain.objects.values_list("workspace_id", flat=True))
    new = [Chain(workspace_id=found) for found in _workspaces() if found not in known]
    Chain.objects.bulk_create(new, ignore_conflicts=True)
    before = horizon()
    below, values = ("", []) if before is None else (" AND e.xid < %s", [before])
    waits = RawSQL(f"EXISTS ({_WAITS}{below})", values, output_field=BooleanField())  # noqa: S611  values are parameters
    return list(Chain.objects.filter(waits).order_by("workspace_id").values_list("workspace_id", flat=True))


def _workspaces() -> Sequence[uuid.UUID]:
    """Every workspace that has events: from one to the next by the index, whatever their number of events."""
    found: list[uuid.UUID] = []
    rows = Event.objects.order_by("workspace_id").values_list("workspace_id", flat=True)
    one = rows.first()
    while one is not None:
        found.append(one)
        one = rows.filter(workspace_id__gt=one).first()
    return found


def _after(head: Chain, batch: int) -> list[_Waiting]:
    mine = Event.objects.filter(is_after(head.xid, head.event_id), workspace_id=head.workspace_id)
    rows = settled(mine, horizon())
    fields = ("id", "xid", "at", "kind", "leaf")
    return [
        _Waiting(id=pk, xid=xid, at=at, kind=kind, leaf=bytes(leaf))
        for pk, xid, at, kind, leaf in rows.order_by("xid", "id").values_list(*fields)[:batch]
    ]


def _without_places(workspace_id: uuid.UUID, found: Sequence[_Waiting]) -> list[_Waiting]:
    """Those without a position, up to a change of keys. After a restore the sealer goes over all events once more."""
    ids = [one.id for one in found]
    rows = Position.objects.filter(workspace_id=workspace_id, event_id__gte=min(ids), event_id__lte=max(ids))
    placed = set(rows.values_list("event_id", flat=True))
    waiting = [one for one in found if one.id not in placed]
    for place, one in enumerate(waiting):
        if one.kind == ROTATED:
            return waiting[: place + 1]
    return waiting


def _put(workspace_id: uuid.UUID, waiting: Sequence[_Waiting]) -> remembered.Memory:
    """Writes positions and the seal."""
    tip = Tip.of(workspace_id)
    chain, tree, rows = tip.chain, merkle.Growing(), []
    for position, one in enumerate(waiting, start=tip.last + 1):
        chain = statement.link(chain, position, one.leaf)
        tree.add(one.leaf)
        rows.append(Position(event_id=one.id, workspace_id=workspace_id, position=position, chain=chain))
    said = statement.Statement(
        workspace=str(workspace_id),
        number=tip.number + 1,
        first=tip.last + 1,
        last=tip.last + len(rows),
        root=tree.root().hex(),
        chain=chain.hex(),
        previous=tip.previous,
        sealed_at=clock.now().isoformat(timespec="microseconds"),
        key=_signer(tip.key),
        next=_next(waiting[-1]),
    )
    text = said.text()
    signature = keys.sign(said.key, statement.signed(text))
    Position.objects.bulk_create(rows)
    faults.point("seal.positions")
    Seal.objects.create(
        workspace_id=workspace_id,
        number=said.number,
        first=said.first,
        last=said.last,
        earliest=min(one.at for one in waiting),
        latest=max(one.at for one in waiting),
        statement=text,
        signature=signature,
    )
    return _memory(said)


def _memory(said: statement.Statement) -> remembered.Memory:
    return remembered.Memory(
        number=said.number, statement=statement.digest(said.text()), sealed_at=said.sealed_at
    )


def _signer(key: str) -> str:
    """The key whose turn it is, or the one that took over when that was lost."""
    while not keys.can_sign(key) and (heir := SealKey.objects.filter(lost=key).first()):
        key = heir.public
    return key


def _next(last: _Waiting) -> str:
    """The key that the last event hands over to. An event that names a key without a file is only an event."""
    if last.kind != ROTATED:
        return ""
    payload = EventPayload.objects.get(event_id=last.id)
    said = canonical.reread(payload.body) if payload.body else None
    data = said.get("data") if isinstance(said, dict) else None
    key = data.get("key") if isinstance(data, dict) and not data.get("lost") else None
    known = isinstance(key, str) and SealKey.objects.filter(public=key).exists()
    return key if isinstance(key, str) and known and keys.can_sign(key) else ""


def _notice_what_is_gone(workspace_id: uuid.UUID) -> None:
    """Records that seals which were made here are not in the database any more, and goes on from those that are."""
    memory = remembered.recall(workspace_id)
    if memory is None or is_there(workspace_id, memory):
        return
    with transaction.atomic():
        if Chain.objects.select_for_update(skip_locked=True).filter(pk=workspace_id).first() is None:
            return
        tip = Seal.objects.filter(workspace_id=workspace_id).order_by("-number").first()
        record(
            "audit.set_back",
            workspace_id=workspace_id,
            actor=SYSTEM,
            data=SetBack(
                remembered=memory.number,
                statement=memory.statement,
                sealed_at=memory.sealed_at,
                number=tip.number if tip else 0,
            ),
        )
    if tip is None:
        remembered.forget(workspace_id)
    else:
        remembered.remember(workspace_id, _memory(statement.read(tip.statement)))


def is_there(workspace_id: uuid.UUID, memory: remembered.Memory) -> bool:
    """Whether the seal that is remembered is in the database."""
    seal = Seal.objects.filter(workspace_id=workspace_id, number=memory.number).first()
    return seal is not None and statement.digest(seal.statement) == memory.statement
