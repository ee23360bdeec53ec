"""Shares in percent, the same on every surface."""

from __future__ import annotations

from typing import Final

NOTHING: Final = "–"


def percent(share: float | None) -> str:
    """`12.5%`, rounded; never 100.0% when something is missing nor 0.0% when something is there; a dash for None.

    Args:
        share: from 0 to 1.
    """
    if share is None:
        return NOTHING
    tenths = round(share * 1000)
    if 0 < share < 1:
        tenths = min(max(tenths, 1), 999)
    return f"{tenths / 10:.1f}%"
