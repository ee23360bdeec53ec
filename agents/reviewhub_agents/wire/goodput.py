"""Where the time of a run went."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .base import Wire
from .fields import Count, Id, Int

Micros = Annotated[Int, Field(ge=0, description="Microseconds.")]


class GoodputOut(Wire):
    """`GET /runs/{run}/goodput`: where the time went, up to now, all times in microseconds.

    useful: work whose results are kept. replay: finding recorded results again, and work that was lost and done again.
    recovery: from the last sign of life of a worker that died until another one had loaded the state, pauses after an
    error, and loading. checkpoints: everything that was written down, `saving_us` of it states, in `saves` saves.
    people: waiting for decisions. queue: a waking waited for a worker. The last two are no worker's time.
    `progress_ppm`: forward progress, useful / (useful + replay + recovery + checkpoints), in parts of a million; left
    out while there is nothing to divide. `losses`: how often work since the last save was lost. `latency_us`: from the
    last sign of life of a worker that died until the run went on, on average and (`longest_us`) at most; left out when
    none died. Tokens are estimated, of model answers: paid for, and found again instead. `shifts` is 0 for an agent
    that runs elsewhere, whose work nobody here measures.
    """

    run: Id
    useful_us: Micros
    replay_us: Micros
    recovery_us: Micros
    checkpoints_us: Micros
    saving_us: Micros
    queue_us: Micros
    people_us: Micros
    shifts: Count
    saves: Count
    losses: Count
    progress_ppm: Count | None = None
    latency_us: Micros | None = None
    longest_us: Micros | None = None
    tokens_paid: Count
    tokens_spared: Count
