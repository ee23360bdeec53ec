"""Writing the record: in the transaction of what it records, or not at all."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction
from pydantic import BaseModel
from reviewhub_agents.canonical import dumps

from reviewhub.audit import kinds
from reviewhub.audit.insert import insert
from reviewhub.audit.leaf import SALT_BYTES, leaf_hash, payload_hash
from reviewhub.audit.models import Event, EventPayload
from reviewhub.audit.signals import Recorded, event_recorded
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.display.secrets import masked

MAX_ACTOR_NAME = 200
MAX_TOOL = 200
MAX_ARGUMENTS = 4000  # characters of a call's arguments that the list of events can be searched by
# What no database text column takes: U+0000 and halves of surrogate pairs. Input never holds them
# (`canonical` refuses them); should one come by another way, the record must still be written.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
) -> Event:
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


def record_many(entries: Sequence[Entry]) -> list[Event]:
    """Writes several events, in order and with one time; see `record`."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded only inside the transaction of what it records")
    checked = [_checked(entry) for entry in entries]
    if not checked:
        return []
    at = clock.now()
    events = [_write(entry, sentence, at) for entry, sentence in checked]
    for event in events:
        transaction.on_commit(partial(_announce, event), robust=True)
    return events


def _checked(entry: Entry) -> tuple[Entry, str]:
    kind = kinds.find(entry.kind)
    if type(entry.data) is not kind.model:
        raise TypeError(f"{entry.kind} takes a {kind.model.__name__}, not a {type(entry.data).__name__}")
    return entry, kinds.sentence(kind, actor=entry.actor.name, data=entry.data)


def _write(entry: Entry, sentence: str, at: datetime) -> Event:
    body = dumps(
        _kept_tree(
            {
                "actor": _actor(entry.actor),
                "data": entry.data.model_dump(mode="json"),
                "refs": {name: str(value) for name, value in _refs(entry).items() if value is not None},
                "sentence": sentence,
            }
        )
    )
    salt = secrets.token_bytes(SALT_BYTES)
    hashed = payload_hash(salt=salt, body=body)
    event = Event(
        workspace_id=entry.workspace_id,
        kind=entry.kind,
        at=at,
        leaf=leaf_hash(workspace_id=entry.workspace_id, kind=entry.kind, at=at, payload=hashed),
        actor_kind=entry.actor.kind,
        actor_id=entry.actor.id,
        tool=_kept(str(getattr(entry.data, "tool", "") or ""))[:MAX_TOOL],
        **_refs(entry),
    )
    payload = EventPayload(
        salt=salt,
        actor_name=_kept(entry.actor.name)[:MAX_ACTOR_NAME],
        sentence=_kept(sentence),
        body=body,
        arguments=_kept(entry.arguments)[:MAX_ARGUMENTS],
    )
    insert(event, payload)
    return event


def _refs(entry: Entry) -> dict[str, uuid.UUID | None]:
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


def _announce(event: Event) -> None:
    event_recorded.send_robust(
        sender=Event,
        event=Recorded(
            id=event.pk,
            kind=event.kind,
            workspace_id=event.workspace_id,
            run_id=event.run_id,
            pause_id=event.pause_id,
            request_id=event.request_id,
            agent_id=event.agent_id,
            subject_id=event.subject_id,
        ),
    )
