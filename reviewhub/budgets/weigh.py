"""What a saved state weighs, by field: bytes, share, estimated tokens, time to read and write, growth, warnings.

Nothing of it is stored. Sizes come from the state itself, growth from the state some checkpoints before, times are
measured here and now.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.weight import tokens

from reviewhub.budgets.line import Step, line
from reviewhub.budgets.rules import Budget, FieldWarning, grown, percent, sizes_of, warnings
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Checkpoint

MOST_FIELDS = 50
STEPS = 40
"""Checkpoints whose bytes are told, and over which a field's growth is."""
MOST_TIMED = 4_000_000
"""A field with more bytes is not timed."""
TIMING = 0.05
"""Seconds after which no further field is timed."""


@dataclass(frozen=True, kw_only=True)
class FieldWeight:
    """One field. `grown` is in bytes over the `steps` of the whole; None when there is nothing to compare with.

    `read_us` and `write_us` are the microseconds that it took to parse its text and to write it; None: not measured.
    """

    name: str
    bytes: int
    share: int
    tokens: int
    limit: int
    grown: int | None
    read_us: int | None
    write_us: int | None


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
    texts = {name: "".join(state.values[name].pieces) for name in ordered}
    counts = {name: tokens(text) for name, text in texts.items()}
    shown, rest = ordered[:most], ordered[most:]
    since = grown(sizes, before[0] if before else None)
    timed = _timed({name: texts[name] for name in shown})
    fields = [
        FieldWeight(
            name=name,
            bytes=sizes[name],
            share=percent(sizes[name], state.size),
            tokens=counts[name],
            limit=budget.limit_of(name),
            grown=since.get(name),
            read_us=timed[name].read_us if name in timed else None,
            write_us=timed[name].write_us if name in timed else None,
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


@dataclass(frozen=True)
class _Times:
    read_us: int
    write_us: int


def _timed(texts: Mapping[str, str]) -> dict[str, _Times]:
    """What reading and writing each text takes, the first ones first, until TIMING is used up."""
    found: dict[str, _Times] = {}
    end = time.perf_counter() + TIMING
    for name, text in texts.items():
        if time.perf_counter() > end:
            break
        if len(text) <= MOST_TIMED:
            found[name] = _time(text)
    return found


def _time(text: str) -> _Times:
    begun = time.perf_counter_ns()
    tree = canonical.reread(text)
    read = time.perf_counter_ns()
    canonical.dumps(tree)
    return _Times((read - begun) // 1000, (time.perf_counter_ns() - read) // 1000)
