"""How often to save. Pure; all times are seconds.

A save costs time; a failure costs the work since the last save. With a save after `interval` seconds of work, saves
that take `save`, failures that come at random every `mtbf` seconds of work and `restart` seconds to go on after one,
Daly (2006) gives the time that a piece of work takes: `mtbf · e^(restart/mtbf) · (e^((interval + save)/mtbf) - 1)` for
each interval. Young's √(2 · save · mtbf) is its optimum as long as saves are quick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_STEPS = 1000
ENDLESS = 700.0
"""What the exponent is capped at: e^700 is the largest power that is a number."""


def young(*, save: float, mtbf: float) -> float:
    """Young's interval, √(2 · save · mtbf)."""
    return math.sqrt(2 * save * mtbf)


def daly(*, save: float, mtbf: float) -> float:
    """Daly's interval, which holds for slow saves, too."""
    if save >= 2 * mtbf:
        return mtbf
    share = save / (2 * mtbf)
    return young(save=save, mtbf=mtbf) * (1 + math.sqrt(share) / 3 + share / 9) - save


def cost(interval: float, *, save: float, mtbf: float, restart: float = 0.0) -> float:
    """What saves and failures add to the work, as a share of it (0.05: five percent more time)."""
    longer = (
        mtbf * math.exp(min(restart / mtbf, ENDLESS)) * math.expm1(min((interval + save) / mtbf, ENDLESS))
    )
    return max(longer / interval - 1, 0.0)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Saving at every `steps`-th boundary: the work between two saves, what it costs, and what a failure redoes."""

    steps: int
    interval: float
    cost: float
    redone: float


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What is configured beside what would be best. `is_finer`: the best interval lies within a single step."""

    save: float
    mtbf: float
    restart: float
    young: float
    daly: float
    now: Choice
    best: Choice
    is_finer: bool

    @property
    def gain(self) -> float:
        """By how much of the work the best choice is cheaper than what is configured."""
        return self.now.cost - self.best.cost


def advise(*, step: float, save: float, mtbf: float, restart: float = 0.0, every: int = 1) -> Advice:
    """Puts the best interval on the boundaries that the author has.

    Args:
        step: work between two of the author's boundaries; where a save is possible.
        every: at how many of them one is saved today.

    Raises:
        ValueError: a time is not positive.
    """
    if min(step, save, mtbf) <= 0:
        raise ValueError("times are positive")
    known = {"save": save, "mtbf": mtbf, "restart": restart}
    wanted = daly(save=save, mtbf=mtbf)
    near = min(max(int(wanted / step), 1), MOST_STEPS - 1)
    best = min((_choice(steps, step, **known) for steps in (near, near + 1)), key=lambda one: one.cost)
    return Advice(
        **known,
        young=young(save=save, mtbf=mtbf),
        daly=wanted,
        now=_choice(every, step, **known),
        best=best,
        is_finer=wanted < step / 2,
    )


def _choice(steps: int, step: float, **known: float) -> Choice:
    interval = steps * step
    return Choice(steps=steps, interval=interval, cost=cost(interval, **known), redone=interval / 2)
