"""What a saved state weighs, by field: bytes, share, estimated tokens, time to read and write, growth, warnings.

Nothing of it is stored. Sizes come from the state itself, growth from the state some checkpoints before, times are
measured here and now.
"""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents.weight import tokens

from reviewhub.budgets.line import Step, line
from reviewhub.budgets.rules import Budget, FieldWarning, grown, percent, sizes_of, warnings
from reviewhub.budgets.timing import Times, timed
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Checkpoint

MOST_FIELDS = 50
STEPS = 40
"""Checkpoints whose bytes are told, and over which a field's growth is."""


@dataclass(frozen=True, kw_only=True)
class FieldWeight:
    """One field. `grown` is in bytes over the `steps` of the whole; None when there is nothing to compare with.

    `times` is None where they were not measured.
    """

    name: str
    bytes: int
    share: int
    tokens: int
    limit: int
    grown: int | None
    times: Times | None


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A state on the scales: its heaviest fields, and the rest of them as one. The newest step is the last."""

    checkpoint: Checkpoint
    bytes: int
    tokens: int
    fields: list[FieldWeight]
    others: int
    others_bytes: int
    steps: list[Step]
    warnings: list[FieldWarning]


def weigh(*, checkpoint: Checkpoint, budget: Budget, most: int = MOST_FIELDS, steps: int = STEPS) -> Weight:
    """Weighs the state of a checkpoint, the heaviest fields first.

    Args:
        most: fields to tell of one by one.
        steps: checkpoints to look back.

    Raises:
        CorruptCheckpoint: the state, or the one that it is compared with, is not what was saved.
    """
    way = line(checkpoint, most=steps)
    state, *before = load_states([checkpoint, *_ends([step.checkpoint for step in way[:-1]])])
    sizes = sizes_of(state)
    ordered = sorted(sizes, key=lambda name: (-sizes[name], name))
    texts = {name: state.values[name].text for name in ordered}
    counts = {name: tokens(text) for name, text in texts.items()}
    shown, rest = ordered[:most], ordered[most:]
    since = grown(sizes, before[0] if before else None)
    times = timed({name: texts[name] for name in shown})
    fields = [
        FieldWeight(
            name=name,
            bytes=sizes[name],
            share=percent(sizes[name], state.size),
            tokens=counts[name],
            limit=budget.limit_of(name),
            grown=since.get(name),
            times=times.get(name),
        )
        for name in shown
    ]
    step = grown(sizes, before[-1] if before else None)
    return Weight(
        checkpoint=checkpoint,
        bytes=state.size,
        tokens=sum(counts.values()),
        fields=fields,
        others=len(rest),
        others_bytes=sum(sizes[name] for name in rest),
        steps=way,
        warnings=warnings(sizes, total=state.size, budget=budget, grown=step),
    )


def _ends(rows: list[Checkpoint]) -> list[Checkpoint]:
    """The first and the last of them; one if they are the same."""
    return rows if len(rows) < 2 else [rows[0], rows[-1]]
