"""Reads of checkpoints for the API and the pages; lists never load a state."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from django.db.models import Count, Max, Min, QuerySet

from reviewhub.accounts.models import Agent, AgentKey
from reviewhub.checkpoints.addressed import addressed
from reviewhub.checkpoints.draft import Draft
from reviewhub.checkpoints.models import Checkpoint, Removal, StateSchema, Tombstone
from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import runs_of

Kind: TypeAlias = Literal["save", "fork", "rewrite"]


def kinds_of(rows: Iterable[Checkpoint]) -> dict[uuid.UUID, Kind]:
    """How each of these checkpoints came to be, by id; one query, and none when no branch begins among them.

    It is in no column, for it follows: the first checkpoint of a branch that has a parent was forked, and if its branch
    superseded another one it is the rewrite.
    """
    found: dict[uuid.UUID, Kind] = {}
    firsts: dict[uuid.UUID, uuid.UUID] = {}
    for row in rows:
        found[row.pk] = "save"
        if row.number == 1 and row.parent_id is not None:
            firsts[row.branch_id] = row.pk
            found[row.pk] = "fork"
    if firsts:
        rewritten = Branch.objects.filter(pk__in=firsts.keys(), supersedes__isnull=False)
        for branch_id in rewritten.values_list("pk", flat=True).distinct():
            found[firsts[branch_id]] = "rewrite"
    return found


@dataclass(frozen=True)
class Gone:
    """What one removal took of a branch: `count` checkpoints with numbers from `first` to `last`."""

    branch: str
    first: int
    last: int
    count: int
    removal: Removal


# What a checkpoint is by is named in lists; the schema itself is large.
_SCHEMA = ("state_schema__schema",)


def for_key(key: AgentKey, checkpoint_id: uuid.UUID) -> Checkpoint:
    """A checkpoint of a run that this key reaches.

    Raises:
        NotFound: there is none, also for one of another agent or environment.
        CheckpointRemoved: there was one.
    """
    return addressed(checkpoint_id, runs=runs_of(key))


def _with_schema() -> QuerySet[Checkpoint]:
    return Checkpoint.objects.select_related("branch", "state_schema").defer(*_SCHEMA)


def head_of(branch: Branch) -> Checkpoint | None:
    """The newest checkpoint of a branch; None before the first, and when those of an ended run were removed."""
    return None if branch.head is None else _with_schema().filter(pk=branch.head).first()


def up_to_step(branch: Branch, step: int) -> Checkpoint | None:
    """The newest checkpoint of a branch's own that is of this step of the run or an earlier one."""
    return _with_schema().filter(branch=branch, step__lte=step).order_by("-number").first()


def in_run(run_id: uuid.UUID, checkpoint_id: uuid.UUID) -> Checkpoint:
    """A checkpoint of the run. Raises NotFound, CheckpointRemoved."""
    return addressed(checkpoint_id, runs=Run.objects.filter(pk=run_id))


def saved(checkpoint_id: uuid.UUID) -> Checkpoint:
    """A checkpoint that was saved once, for a request that is repeated. Raises CheckpointRemoved."""
    return addressed(checkpoint_id, runs=Run.objects.all())


def hash_of(checkpoint_id: uuid.UUID | None) -> str | None:
    """The hash of a checkpoint's state, also when it was removed; None without one."""
    if checkpoint_id is None:
        return None
    for kind in (Checkpoint, Tombstone):
        if found := kind.objects.filter(pk=checkpoint_id).values_list("state_hash", flat=True).first():
            return str(found)
    return None


def saved_as(branch: Branch, draft: Draft) -> Checkpoint | None:
    """What a draft has become on this branch already, for a request that is repeated; None when it was not saved.

    Not for anything but repeats that are known as such: two writers with one state on one parent are still two.
    """
    if draft.existing is not None:
        return draft.existing
    rows = Checkpoint.objects.filter(
        branch=branch, state_hash=draft.state_hash, node=draft.node, step=draft.step
    )
    if not draft.on_head:
        rows = rows.filter(parent_id=draft.parent)
    return rows.order_by("-number").first()


def of_run(run_id: uuid.UUID, *, cursor: str = "", limit: int = 50) -> Page[Checkpoint]:
    """A page of a run's checkpoints on all branches, the newest first. Raises Invalid for a foreign cursor."""
    rows = Checkpoint.objects.filter(run_id=run_id).select_related("branch", "state_schema")
    rows = rows.defer("content", *_SCHEMA)
    return keyset.newest_first(rows, cursor=cursor, limit=limit)


def listed_schemas() -> QuerySet[StateSchema]:
    """What agents registered of their states, by name, the newest version first; without the schemas themselves."""
    return StateSchema.objects.defer("schema").order_by("name", "-version")


def schema_of(agent: Agent, name: str, version: int) -> StateSchema:
    """A schema that the agent registered. Raises NotFound."""
    found = StateSchema.objects.filter(agent=agent, name=name, version=version).first()
    if found is None:
        raise NotFound(f"This agent has registered no version {version} of a state {name!r}.")
    return found


def removed_of(run_id: uuid.UUID, *, most: int = 50) -> list[Gone]:
    """What was removed of a run, the latest first; at most `most` entries."""
    stones = Tombstone.objects.filter(removal__run_id=run_id).values("branch__name", "removal_id")
    rows = stones.annotate(first=Min("number"), last=Max("number"), count=Count("id"))
    found = list(rows.order_by("-removal__created_at", "branch__name")[:most])
    removals = Removal.objects.select_related("end").in_bulk([row["removal_id"] for row in found])
    return [
        Gone(row["branch__name"], row["first"], row["last"], row["count"], removals[row["removal_id"]])
        for row in found
    ]
