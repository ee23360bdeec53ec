"""Everything about saving a checkpoint that needs no transaction: reading, checking, comparing, hashing, packing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.load import known_tip, load_tip, removed_of_run
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.place import Placed, place
from reviewhub.checkpoints.recall import Tip
from reviewhub.checkpoints.tree import State, apply_hints, make_state
from reviewhub.checkpoints.typed import UNTYPED, Typed, typed
from reviewhub.core.errors import Invalid
from reviewhub.plans.queries import check_ref
from reviewhub.runs.models import Branch


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A checkpoint ready to be saved.

    `existing` is one that was saved before: then it only has to be the head still, and the rest is empty. With
    `on_head` the parent is whatever is the head when it is saved; else it must be `parent` (None: none saved yet).
    `before` is the state that it follows, None for a first one or one that will be refused. `placed` is the row on top
    of what the head was while the draft was made; `save` makes another if it moved on.
    """

    existing: Checkpoint | None = None
    on_head: bool = False
    parent: uuid.UUID | None = None
    node: str = ""
    step: int = 0
    plan: str = "null"
    reason: str = ""
    state: State = field(default_factory=lambda: State({}))
    typed: Typed = UNTYPED
    before: State | None = None
    placed: Placed | None = None

    @property
    def state_hash(self) -> str:
        """The hash of the state."""
        return self.state.state_hash


def draft(*, branch: Branch, message: wire.CheckpointIn) -> Draft:
    """Prepares what `save` writes; to be called before the transaction, for it may take long.

    Args:
        branch: as read, not locked; `save` checks again.
        message: the whole state, or hints against a parent, or the id of a checkpoint saved before.

    Raises:
        Invalid: the state or a hint is not as it should be, or makes another state than the message says; a checkpoint
            that is named is not of this run; a schema, or a version of the plan or its step, is not there.
        StateMisfit: the state is not what its schema says, and has to be.
        TooLarge: the state is larger than LIMIT_STATE_BYTES, also when hints built it up.
        CorruptCheckpoint: what the state would stand on does not match its hash.
        CheckpointRemoved: a checkpoint that is named was removed.
    """
    if message.id is not None:
        return Draft(existing=_of_run(branch, message.id, "/checkpoint/id"))
    root = "" if isinstance(message, wire.CheckpointSave) else "/checkpoint"
    if message.plan is not None:
        check_ref(branch.run_id, message.plan, path=f"{root}/plan")
    on_head = not message.was_given("parent")
    parent = branch.head if on_head else message.parent
    if message.has_hints and message.parent is not None:
        before = _tip(branch, message.parent, f"{root}/parent")
        on: Tip | None = before
        state = _hinted(before, message, root)
    else:
        on = head_tip(branch) if parent == branch.head else None
        state = _whole(message, on, root)
    placed = place(state, on=on) if parent == branch.head else None
    state = placed.state if placed else state
    if message.state_hash is not None and message.state_hash != state.state_hash:
        told = f"what was sent makes a state with the hash {state.state_hash}"
        raise Invalid.at(f"{root}/state_hash", told, "state_hash")
    known = typed(
        agent=branch.run.agent,
        named=message.state_schema,
        state=state,
        before=on.state if on else None,
        at=root,
    )
    return Draft(
        on_head=on_head,
        parent=parent,
        node=message.node,
        step=message.step,
        plan=message.plan.to_text() if message.plan else "null",
        reason=message.reason if isinstance(message, wire.CheckpointSave) else "",
        state=state,
        typed=known,
        before=on.state if on else None,
        placed=placed,
    )


def head_tip(branch: Branch) -> Tip | None:
    """What the next checkpoint of a branch stands on; None before the first. Raises CorruptCheckpoint."""
    if branch.head is None:
        return None
    found = known_tip(branch.head, run_id=branch.run_id)
    return found or load_tip(Checkpoint.objects.defer("content").get(pk=branch.head))


def _hinted(on: Tip, message: wire.CheckpointIn, root: str) -> State:
    try:
        return apply_hints(
            on.state,
            changed=message.changed or {},
            append=dict(message.append or {}),
            unchanged=message.unchanged or [],
            parent_hash=message.parent_hash,
            at=root,
            max_bytes=settings.LIMIT_STATE_BYTES,
        )
    except canonical.BadJson as error:
        raise _refused(error, root) from error


def _whole(message: wire.CheckpointIn, on: Tip | None, root: str) -> State:
    before = on.state if on else None
    try:
        return make_state(message.state, before=before, max_bytes=settings.LIMIT_STATE_BYTES)
    except canonical.BadJson as error:
        raise _refused(error, root) from error


def _refused(error: canonical.BadJson, root: str) -> Invalid:
    first = error.errors[0]
    return Invalid.at(f"{root}{first['path']}", first["message"], first["code"])


def _tip(branch: Branch, checkpoint_id: uuid.UUID, at: str) -> Tip:
    found = known_tip(checkpoint_id, run_id=branch.run_id)
    return found or load_tip(_of_run(branch, checkpoint_id, at))


def _of_run(branch: Branch, checkpoint_id: uuid.UUID, path: str) -> Checkpoint:
    rows = Checkpoint.objects.filter(pk=checkpoint_id, run_id=branch.run_id)
    found = rows.select_related("branch").defer("content").first()
    if found is None:
        if (gone := removed_of_run(checkpoint_id, run_id=branch.run_id)) is not None:
            raise gone
        raise Invalid.at(path, "there is no such checkpoint of this run", code="not_found")
    return found
