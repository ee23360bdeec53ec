"""Going on from an older checkpoint on a new branch."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from reviewhub_agents.canonical import Tree

from reviewhub.audit.record import record
from reviewhub.checkpoints.blobs.home import bring_home, fetch_home
from reviewhub.checkpoints.draft import Draft
from reviewhub.checkpoints.edit import edited
from reviewhub.checkpoints.kinds import CheckpointForked
from reviewhub.checkpoints.load import load_tip, removed_of_run
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.place import Placed, place
from reviewhub.checkpoints.save import insert
from reviewhub.checkpoints.tree import State
from reviewhub.checkpoints.typed import UNTYPED, Typed, check, refusal, text_of
from reviewhub.core.actors import Actor
from reviewhub.core.changes import parse_changes
from reviewhub.core.errors import Conflict, Invalid, NotFound
from reviewhub.core.text import check_text
from reviewhub.runs.models import Branch, Run

MAX_NAME = 120


class NameTaken(Conflict):
    """The run has a branch of this name, or of this id, already."""

    code = "name_taken"


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """The first checkpoint of a new branch, ready to be written."""

    draft: Draft
    placed: Placed
    # Hash → packed bytes: what the state needs and the database has not; see `blobs.home`.
    home: dict[bytes, bytes]


def beginning(*, checkpoint: Checkpoint, changes: Sequence[Tree], reason: str) -> Beginning:
    """What takes time about a fork: reads the state, changes, hashes and packs it. Writes nothing.

    Args and errors as those of `fork`; and BlobsAway, when the state is partly in a blob store that does not answer.
    """
    check_text(reason, path="/reason")
    origin = load_tip(checkpoint)
    state, kept = origin.state, Typed(checkpoint.state_schema, checkpoint.misfits)
    if changes:
        state = edited(state, parse_changes(list(changes)), max_bytes=settings.LIMIT_STATE_BYTES)
    placed = place(state, on=origin, begins_branch=True)
    if changes:
        kept = _still_fitting(checkpoint, placed.state, before=origin.state)
    made = Draft(
        node=checkpoint.node,
        step=checkpoint.step,
        plan=checkpoint.plan,
        reason=reason,
        state=placed.state,
        typed=kept,
    )
    home = fetch_home(checkpoint.run_id, placed.skeleton.blobs())
    return Beginning(draft=made, placed=placed, home=home)


def fork(
    *,
    checkpoint: Checkpoint,
    name: str | None,
    changes: Sequence[Tree],
    reason: str,
    actor: Actor,
    first: Beginning | None = None,
    stem: str = "fork",
) -> tuple[Branch, Checkpoint]:
    """Makes a running branch whose first checkpoint has `checkpoint` as its parent. Supersedes nothing.

    The caller holds the lock of the checkpoint's branch, so that it is not removed meanwhile (see `gates.fork`).

    The run may have ended; the caller derives its state anew and wakes who works on it.

    Args:
        name: of the new branch; None for the next free one of `stem`: `fork-1`, `fork-2`.
        changes: steps {op: set | insert | remove, path, value}, in order, that make the new branch's state of the old
            one; what no step names keeps its bytes.
        reason: why, in the forker's words.
        first: what `beginning` made of the same arguments, before the transaction.

    Raises:
        Invalid: the name is too long or unprintable, or has too many spaces, or a change does not fit the state (with
            its path).
        StateMisfit: the changes make the state unfit for its schema, at a place where it fitted before.
        NameTaken: the run has a branch of that name, or of that id.
        TooLarge: the changed state is too large.
        CorruptCheckpoint: the checkpoint does not match its hash.
        CheckpointRemoved: it was removed.
    """
    if name is not None:
        _check_name(name)
    made = first or beginning(checkpoint=checkpoint, changes=changes, reason=reason)
    with transaction.atomic():
        if not Checkpoint.objects.filter(pk=checkpoint.pk).exists():
            raise removed_of_run(checkpoint.pk, run_id=checkpoint.run_id) or NotFound()
        branch = _branch(checkpoint, name, stem)
        bring_home(checkpoint.run_id, made.placed.skeleton.blobs(), made.home)
        saved = insert(branch=branch, draft=made.draft, placed=made.placed, parent=checkpoint.id, actor=actor)
        paths = [str(change["path"]) for change in changes if isinstance(change, dict)]
        record(
            "checkpoint.forked",
            workspace_id=branch.workspace_id,
            actor=actor,
            data=CheckpointForked(
                branch=checkpoint.branch.name,
                number=checkpoint.number,
                checkpoint=str(checkpoint.id),
                fork=branch.name,
                fork_id=str(branch.id),
                state_hash=saved.state_hash,
                changed=paths,
                reason=reason,
            ),
            run_id=branch.run_id,
            agent_id=checkpoint.run.agent_id,
            subject_id=branch.id,
        )
    return branch, saved


def check_free(run_id: uuid.UUID, name: str) -> None:
    """Whether a new branch of the run could have this name now. Raises Invalid, NameTaken."""
    _check_name(name)
    _check_no_id(run_id, name)
    if Branch.objects.filter(run_id=run_id, name=name).exists():
        raise _taken(name)


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise Invalid.at("/branch", f"needs 1 to {MAX_NAME} printable characters; {len(name)} given")
    if name != " ".join(name.split()):
        # On a page "main " is "main", and " " is nothing at all.
        raise Invalid.at("/branch", "has no space at its ends, nor two in a row")


def _still_fitting(checkpoint: Checkpoint, state: State, *, before: State) -> Typed:
    """Changes are always looked at strictly: they may leave what did not fit, and not spoil what did."""
    schema = checkpoint.state_schema
    if schema is None:
        return UNTYPED
    found = check(state, schema=schema, before=before)
    known = {one.path for one in check(before, schema=schema, before=None)} if found else set()
    if new := [one for one in found if one.path not in known]:
        raise refusal(new, schema, at="/state")
    return Typed(schema, text_of(found))


def _branch(checkpoint: Checkpoint, name: str | None, stem: str) -> Branch:
    """The new branch. Names are unique in a run by a constraint, so of two forks with one name one is refused."""
    run = checkpoint.run
    if name is None:
        return free_branch(run=run, stem=stem, fork_of=checkpoint.id)
    _check_no_id(run.pk, name)
    return _first_free(run, [name], checkpoint.id)


def free_branch(*, run: Run, stem: str, fork_of: uuid.UUID | None = None) -> Branch:
    """A new branch of a run with the next free name of `stem`: `fork-1`, `fork-2`. Raises NameTaken."""
    return _first_free(run, _free_names(run, stem), fork_of)


def _first_free(run: Run, tries: list[str], fork_of: uuid.UUID | None) -> Branch:
    for wanted in tries:
        try:
            with transaction.atomic():
                return Branch.objects.create(
                    workspace_id=run.workspace_id, run=run, name=wanted, fork_of=fork_of
                )
        except IntegrityError:
            continue
    raise _taken(tries[-1])


def _taken(name: str) -> NameTaken:
    return NameTaken(f"The run has a branch {name!r} already.")


def _check_no_id(run_id: uuid.UUID, name: str) -> None:
    """A branch is found by its name or its id, so no name of one is the id of another. Raises NameTaken."""
    try:
        meant = uuid.UUID(name)
    except ValueError:
        return
    if Branch.objects.filter(run_id=run_id, pk=meant).exists():
        raise NameTaken(f"{name!r} is the id of a branch of the run.")


def _free_names(run: Run, stem: str) -> list[str]:
    """Names to try: the number of branches so called is a good guess, and others may be forking too."""
    count = Branch.objects.filter(run=run, name__startswith=f"{stem}-").count()
    return [f"{stem}-{number}" for number in range(count + 1, count + 51)]
