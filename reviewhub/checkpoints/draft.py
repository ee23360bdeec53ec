"""Everything about saving a checkpoint that needs no transaction: reading, checking, hashing, packing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.load import load_state
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import State, apply_hints, encode_body, make_state
from reviewhub.core.errors import Invalid
from reviewhub.runs.models import Branch


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A checkpoint ready to be saved.

    `existing` is one that was saved before: then it only has to be the head still, and the rest is empty. With
    `on_head` the parent is whatever is the head when it is saved; else it must be `parent` (None: none saved yet).
    """

    existing: Checkpoint | None = None
    on_head: bool = False
    parent: uuid.UUID | None = None
    node: str = ""
    step: int = 0
    plan: str = "null"
    state_hash: str = ""
    raw_length: int = 0
    body: bytes = b""
    reason: str = ""


def draft(*, branch: Branch, message: wire.CheckpointIn) -> Draft:
    """Prepares what `save` writes; to be called before the transaction, for it may take long.

    Args:
        branch: as read, not locked; `save` checks again.
        message: the whole state, or hints against a parent, or the id of a checkpoint saved before.

    Raises:
        Invalid: the state or a hint is not as it should be; a checkpoint that is named is not of this run.
        TooLarge: the state is larger than LIMIT_STATE_BYTES, also when hints built it up.
        CorruptCheckpoint: the parent of the hints does not match its hash.
    """
    if message.id is not None:
        return Draft(existing=_of_run(branch, message.id, "/checkpoint/id"))
    return packed(
        _state(branch, message),
        on_head=not message.was_given("parent"),
        parent=message.parent,
        node=message.node,
        step=message.step,
        plan=message.plan.to_text() if message.plan else "null",
        reason=message.reason if isinstance(message, wire.CheckpointSave) else "",
    )


def packed(
    state: State,
    *,
    on_head: bool = False,
    parent: uuid.UUID | None = None,
    node: str = "",
    step: int = 0,
    plan: str = "null",
    reason: str = "",
) -> Draft:
    """The draft for a state that is known already."""
    return Draft(
        on_head=on_head,
        parent=parent,
        node=node,
        step=step,
        plan=plan,
        state_hash=state.state_hash,
        raw_length=len(state.text.encode()),
        body=encode_body(state),
        reason=reason,
    )


def _state(branch: Branch, message: wire.CheckpointIn) -> State:
    most = settings.LIMIT_STATE_BYTES
    try:
        if message.parent is None or not message.has_hints:
            return make_state(message.state, max_bytes=most)
        return apply_hints(
            load_state(_of_run(branch, message.parent, "/checkpoint/parent")),
            changed=message.changed or {},
            append=dict(message.append or {}),
            unchanged=message.unchanged or [],
            parent_hash=message.parent_hash,
            max_bytes=most,
        )
    except canonical.BadJson as error:
        first = error.errors[0]
        raise Invalid.at(f"/checkpoint{first['path']}", first["message"], first["code"]) from error


def _of_run(branch: Branch, checkpoint_id: uuid.UUID, path: str) -> Checkpoint:
    found = Checkpoint.objects.filter(pk=checkpoint_id, run_id=branch.run_id).first()
    if found is None:
        raise Invalid.at(path, "there is no such checkpoint of this run", code="not_found")
    return found
