"""A sweep goes through what is due, one after the other."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

log = logging.getLogger(__name__)
Due = TypeVar("Due")


def each(do: Callable[[Due], int], due: Iterable[Due]) -> int:
    """Does it for each that is due, in a transaction of its own; one that breaks is logged and stops no other.

    Args:
        do: gives how much it did; True counts as one.

    Returns:
        How much was done in all.
    """
    return sum(_tried(do, one) for one in due)


def until(due: Iterable[Due], *, seconds: float) -> Iterator[Due]:
    """Those that are due, and no more of them once so many seconds have gone by."""
    end = time.monotonic() + seconds
    for one in due:
        yield one
        if time.monotonic() >= end:
            return


def _tried(do: Callable[[Due], int], one: Due) -> int:
    try:
        return do(one)
    except Exception:
        log.exception("%s.%s failed for %s", do.__module__, do.__qualname__, one)
        return 0
