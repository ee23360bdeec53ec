"""How often to save: simulated runs with random failures, beside Daly's formula and the advice of the product.

python -m benchmarks.interval            prints the table of docs/goodput.md
python -m benchmarks.interval --write    puts it there
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from reviewhub.hosting.goodput.advisor import advise, cost, daly, young

DOCS = Path(__file__).resolve().parent.parent / "docs" / "goodput.md"
# Seconds: a step, a save, between failures, to go on after one.
CASES = (
    (0.2, 0.001, 60.0, 2.0),
    (0.2, 0.01, 600.0, 10.0),
    (2.0, 0.05, 3600.0, 60.0),
    (2.0, 0.5, 900.0, 30.0),
    (30.0, 5.0, 600.0, 60.0),
    (60.0, 0.01, 3600.0, 60.0),
)


def simulated(
    interval: float, *, save: float, mtbf: float, restart: float, failures: int, seed: int
) -> float:
    """What saves and failures add to the work, as a share of it, in a run until so many failures happened.

    A failure, also one while saving or while going on after another, loses the work since the last save.
    """
    dice = random.Random(seed)
    clock, work = 0.0, 0.0
    for _ in range(failures):
        left = dice.expovariate(1 / mtbf)
        clock += left
        # The first failure needs no going on, which is one restart in all of them.
        left -= restart
        if left > 0:
            work += interval * int(left // (interval + save))
    return clock / work - 1 if work else float("inf")


def table(failures: int = 40_000, seed: int = 7) -> str:
    """The table, as Markdown."""
    lines = [
        "| step | save | between failures | going on | Young | Daly | advised | simulated cost | Daly's formula "
        "| best in the simulation |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for step, save, mtbf, restart in CASES:
        known = {"save": save, "mtbf": mtbf, "restart": restart}
        found = advise(step=step, **known)
        rolled = {"failures": failures, "seed": seed}
        seen = simulated(found.best.interval, **known, **rolled)
        best = min(
            sorted({max(round(found.best.steps * part), 1) for part in (0.5, 0.7, 0.85, 1, 1.2, 1.5, 2)}),
            key=lambda steps: simulated(steps * step, **known, **rolled),
        )
        lines.append(
            f"| {step:g} s | {save:g} s | {mtbf:g} s | {restart:g} s | {young(save=save, mtbf=mtbf):.2f} s "
            f"| {daly(save=save, mtbf=mtbf):.2f} s | every {found.best.steps} steps | {seen:.2%} "
            f"| {cost(found.best.interval, **known):.2%} | every {best} steps |"
        )
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or writes it."""
    made = table()
    if "--write" not in sys.argv:
        print(made)
        return
    page = DOCS.read_text()
    head, _, rest = page.partition("<!-- interval -->\n")
    tail = rest.partition("<!-- end of interval -->")[2]
    DOCS.write_text(f"{head}<!-- interval -->\n{made}\n<!-- end of interval -->{tail}")


if __name__ == "__main__":
    main()
