"""The figures as the API shows them."""

from __future__ import annotations

from reviewhub_agents import wire

from reviewhub.hosting.goodput.queries import Goodput
from reviewhub.hosting.goodput.shifts import MICRO
from reviewhub.runs.models import Run


def goodput_out(run: Run, found: Goodput) -> wire.GoodputOut:
    """The figures of a run."""
    maybe = {
        "progress_ppm": found.spent.progress,
        "latency_us": found.latency,
        "longest_us": found.longest,
    }
    return wire.GoodputOut(
        run=run.pk,
        **{f"{name}_us": _micros(seconds) for name, seconds in found.parts},
        saving_us=_micros(found.spent.saving),
        shifts=found.shifts,
        saves=found.spent.saves,
        losses=found.losses,
        tokens_paid=found.spent.paid,
        tokens_spared=found.spent.spared,
        **{name: _micros(value) for name, value in maybe.items() if value is not None},
    )


def _micros(value: float) -> int:
    return round(value * MICRO)
