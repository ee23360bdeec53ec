"""What the states of an agent's newest runs weigh: what each run keeps, and the heaviest fields over all of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet
from reviewhub_agents.weight import tokens

from reviewhub.budgets.kept import Kept, kept
from reviewhub.budgets.rules import percent
from reviewhub.budgets.timing import Times, timed
from reviewhub.checkpoints.load import CorruptCheckpoint, load_states
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.tree import State
from reviewhub.runs.models import Branch, Run

RUNS = 10
FIELDS = 20
MOST_BYTES = 16_000_000
"""Bytes of states that are read for the fields, the newest first."""


@dataclass(frozen=True, kw_only=True)
class RunWeight:
    """A run, what it keeps in the database, and its newest checkpoint (None before the first)."""

    run: Run
    kept: Kept
    newest: Checkpoint | None


@dataclass
class FieldOfRuns:
    """A field over the states that were read: in how many it is, and all its bytes and estimated tokens.

    `most` and `largest` are bytes and text where it is largest; `times` are those of that text, None if not measured.
    """

    name: str
    runs: int = 0
    bytes: int = 0
    tokens: int = 0
    share: int = 0
    most: int = 0
    largest: str = ""
    times: Times | None = None


@dataclass(frozen=True, kw_only=True)
class AgentWeight:
    """The newest runs, and the fields of the newest state of each. `read` of them were read; `damaged` could not be."""

    runs: list[RunWeight]
    fields: list[FieldOfRuns]
    others: int
    read: int
    damaged: list[uuid.UUID] = field(default_factory=list)


def weigh_agent(runs: QuerySet[Run], *, most: int = RUNS) -> AgentWeight:
    """Weighs the newest `most` of these runs of an agent; the caller narrowed them to what the reader may see.

    Costs a pass over the rows of these runs, and MOST_BYTES of states at most.
    """
    found = list(runs.order_by("-created_at", "-id")[:most])
    ids = [run.pk for run in found]
    newest = _newest(ids)
    keeps = kept(ids)
    fields: dict[str, FieldOfRuns] = {}
    damaged: list[uuid.UUID] = []
    total = read = 0
    for row in newest.values():
        if total + row.raw_length > MOST_BYTES:
            continue
        try:
            (state,) = load_states([row])
        except CorruptCheckpoint:
            damaged.append(row.pk)
            continue
        total, read = total + state.size, read + 1
        _add(fields, state)
    heaviest = sorted(fields.values(), key=lambda one: (-one.bytes, one.name))
    times = timed({one.name: one.largest for one in heaviest[:FIELDS]})
    for one in heaviest[:FIELDS]:
        one.share, one.times = percent(one.bytes, total), times.get(one.name)
    return AgentWeight(
        runs=[RunWeight(run=run, kept=keeps[run.pk], newest=newest.get(run.pk)) for run in found],
        fields=heaviest[:FIELDS],
        others=max(0, len(heaviest) - FIELDS),
        read=read,
        damaged=damaged,
    )


def _newest(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Checkpoint]:
    """The newest head of each run, by the run's id, in the order of the ids."""
    heads = Branch.objects.filter(run_id__in=ids, head__isnull=False).values("head")
    rows = Checkpoint.objects.filter(pk__in=heads).defer("content").order_by("created_at", "id")
    found = {row.run_id: row for row in rows}
    return {run_id: found[run_id] for run_id in ids if run_id in found}


def _add(fields: dict[str, FieldOfRuns], state: State) -> None:
    for name, value in state.values.items():
        one, text = fields.setdefault(name, FieldOfRuns(name)), value.text
        one.runs, one.bytes, one.tokens = one.runs + 1, one.bytes + value.size, one.tokens + tokens(text)
        if value.size > one.most:
            one.most, one.largest = value.size, text
