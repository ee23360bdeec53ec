"""How long a branch has worked: the time in which it did not wait for anybody. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

Span = tuple[datetime, datetime]


def worked(*, span: Span, waits: Iterable[Span]) -> timedelta:
    """The part of `span` in which none of `waits` was; they may overlap, touch, and reach beyond it."""
    begin, end = span
    total = max(end - begin, timedelta(0))
    at = begin
    for start, stop in sorted(waits):
        start, stop = max(start, at), min(stop, end)
        if stop > start:
            total -= stop - start
            at = stop
    return total
