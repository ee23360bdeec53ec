"""Writing the record: in the transaction of what it records, or not at all."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from json import JSONEncoder
from typing import Any

from django.db import transaction
from pydantic import BaseModel

from reviewhub.audit import kinds
from reviewhub.audit.insert import insert
from reviewhub.audit.leaf import SALT_BYTES, payload_hash
from reviewhub.audit.models import Event
from reviewhub.audit.signals import Recorded, event_recorded
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.display.secrets import find, masked

MAX_ACTOR_NAME = 200
MAX_TOOL = 200
MAX_ARGUMENTS = 4000  # characters of a call's arguments that the list of events can be searched by
# What no database text column takes: U+0000 and halves of surrogate pairs. Input never holds them
# (`canonical` refuses them); should one come by another way, the record must still be written.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# The canonical text of what pydantic made for JSON, in a tenth of the time that `canonical.dumps` takes.
_canonical = JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One event to be written; the fields are those of `record`."""

    kind: str
    workspace_id: uuid.UUID
    actor: Actor
    data: BaseModel
    run_id: uuid.UUID | None = None
    pause_id: uuid.UUID | None = None
    request_id: uuid.UUID | None = None
    agent_id: uuid.UUID | None = None
    subject_id: uuid.UUID | None = None
    arguments: str = ""


def record(
    kind: str,
    *,
    workspace_id: uuid.UUID,
    actor: Actor,
    data: BaseModel,
    run_id: uuid.UUID | None = None,
    pause_id: uuid.UUID | None = None,
    request_id: uuid.UUID | None = None,
    agent_id: uuid.UUID | None = None,
    subject_id: uuid.UUID | None = None,
    arguments: str = "",
) -> Recorded:
    """Writes one event into the running transaction, and announces it after the commit.

    Args:
        kind: a registered kind.
        workspace_id: the tenant that the event belongs to.
        actor: who did it, with the name as it is now.
        data: an instance of the kind's payload model.
        run_id, pause_id, request_id, agent_id: what it is about; pages and the change feed find it by these.
        subject_id: the person, team, key, … that it is about, for kinds that have one.
        arguments: those of the call that it is about, with what is secret masked; the list of events is searched by
            their first MAX_ARGUMENTS characters.

    Raises:
        RuntimeError: outside of a transaction.
        UnknownKind: no such kind is registered.
        TypeError: `data` is not of the kind's model.
    """
    entry = Entry(
        kind=kind,
        workspace_id=workspace_id,
        actor=actor,
        data=data,
        run_id=run_id,
        pause_id=pause_id,
        request_id=request_id,
        agent_id=agent_id,
        subject_id=subject_id,
        arguments=arguments,
    )
    return record_many([entry])[0]


def record_many(entries: Sequence[Entry]) -> list[Recorded]:
    """Writes several events, in order and with one time; see `record`."""
    here = transaction.get_connection()
    if not here.in_atomic_block:
        raise RuntimeError("an event is recorded only inside the transaction of what it records")
    checked = [_checked(entry) for entry in entries]
    at = clock.now() if len(checked) > 1 else None
    written = [_write(entry, sentence, at) for entry, sentence in checked]
    if written:
        here.on_commit(partial(_announce, written), robust=True)
    return written


def _checked(entry: Entry) -> tuple[Entry, str]:
    kind = kinds.find(entry.kind)
    if type(entry.data) is not kind.model:
        raise TypeError(f"{entry.kind} takes a {kind.model.__name__}, not a {type(entry.data).__name__}")
    return entry, kinds.sentence(kind, actor=entry.actor.name, data=entry.data)


def _write(entry: Entry, sentence: str, at: datetime | None) -> Recorded:
    refs = _refs(entry)
    said = {
        "actor": _actor(entry.actor),
        "data": entry.data.model_dump(mode="json"),
        "refs": {name: str(value) for name, value in refs.items() if value is not None},
        "sentence": sentence,
    }
    body, salt = _canonical(said), os.urandom(SALT_BYTES)
    beside = [str(getattr(entry.data, "tool", "") or ""), entry.actor.name, sentence, entry.arguments]
    if not _is_kept_as_it_is(body, beside):
        body, beside = _canonical(_kept_tree(said)), _kept_tree(beside)
    tool, name, sentence, arguments = beside
    event_id = insert(
        workspace_id=entry.workspace_id,
        kind=entry.kind,
        at=at,
        payload=payload_hash(salt=salt, body=body),
        about=(entry.actor.kind, entry.actor.id, tool[:MAX_TOOL], *refs.values()),
        words=(salt, name[:MAX_ACTOR_NAME], sentence, body, arguments[:MAX_ARGUMENTS]),
    )
    return Recorded(id=event_id, kind=entry.kind, workspace_id=entry.workspace_id, **refs)


def _refs(entry: Entry) -> dict[str, uuid.UUID | None]:
    """In the order of `insert`."""
    return {
        "run_id": entry.run_id,
        "pause_id": entry.pause_id,
        "request_id": entry.request_id,
        "agent_id": entry.agent_id,
        "subject_id": entry.subject_id,
    }


def _actor(actor: Actor) -> dict[str, str | None]:
    return {
        "kind": actor.kind,
        "id": str(actor.id) if actor.id else None,
        "name": actor.name,
        "source": actor.source,
        "ip": actor.ip,
        "http_request": actor.http_request,
    }


def _is_kept_as_it_is(body: str, beside: list[str]) -> bool:
    """Whether nothing is to be replaced, as in nearly all events: one look at everything.

    While nothing is escaped in the body, each text stands in it as it is, between quotes. A shape that is found in a
    text is found in the whole, too: a quote or a line's end bounds words as the end of a text does.
    """
    whole = "\n".join([body, *beside])
    return "\\" not in body and not _UNSTORABLE.search(whole) and not find(whole)


def _kept_tree(value: Any) -> Any:
    if isinstance(value, str):
        return _kept(value)
    if isinstance(value, dict):
        return {_kept(str(key)): _kept_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_kept_tree(item) for item in value]
    return value


def _kept(text: str) -> str:
    """A text as the record holds it: what has a secret's shape is masked, since nobody could take it out again."""
    return masked(_UNSTORABLE.sub("\ufffd", text))


def _announce(written: Sequence[Recorded]) -> None:
    for event in written:
        event_recorded.send_robust(sender=Event, event=event)
