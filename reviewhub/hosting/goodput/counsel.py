"""Advice for one agent, from what its shifts measured."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.hosting.goodput.advisor import Advice, advise
from reviewhub.hosting.goodput.queries import Goodput


@dataclass(frozen=True, kw_only=True)
class Counsel:
    """Advice, and whether a failure was seen at all; without one, the time seen stands for the time between two."""

    advice: Advice
    is_guess: bool


def counsel(found: Goodput) -> Counsel | None:
    """How often the agent should save; None before anything was saved."""
    spent = found.spent
    if not (spent.saves and spent.saving and spent.useful):
        return None
    seen = spent.useful + spent.replay + spent.recovery + spent.overhead
    advice = advise(
        step=spent.useful / spent.saves,
        save=spent.saving / spent.saves,
        mtbf=seen / max(found.losses, 1),
        restart=found.latency or 0.0,
    )
    return Counsel(advice=advice, is_guess=not found.losses)
