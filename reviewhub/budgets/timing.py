"""How long it takes to read and to write the values of a state: measured when somebody looks, here and now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from reviewhub_agents import canonical

MOST_TIMED = 4_000_000
"""A text with more characters is not timed."""
TIMING = 0.05
"""Seconds after which no further text is timed."""


@dataclass(frozen=True)
class Times:
    """Microseconds that it took to parse a text, and to write it again."""

    read_us: int
    write_us: int

    @property
    def words(self) -> str:
        """Both in milliseconds, `1.2 / 0.8`."""
        return f"{self.read_us / 1000:.1f} / {self.write_us / 1000:.1f}"


def timed(texts: Mapping[str, str]) -> dict[str, Times]:
    """What reading and writing each text takes, the first ones first, until TIMING is used up."""
    found: dict[str, Times] = {}
    end = time.perf_counter() + TIMING
    for name, text in texts.items():
        if time.perf_counter() > end:
            break
        if len(text) <= MOST_TIMED:
            found[name] = _time(text)
    return found


def _time(text: str) -> Times:
    begun = time.perf_counter_ns()
    tree = canonical.reread(text)
    read = time.perf_counter_ns()
    canonical.dumps(tree)
    return Times((read - begun) // 1000, (time.perf_counter_ns() - read) // 1000)
