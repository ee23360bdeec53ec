"""A sweep goes through what is due, one after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
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


def _tried(do: Callable[[Due], int], one: Due) -> int:
    try:
        return do(one)
    except Exception:
        log.exception("%s.%s failed for %s", do.__module__, do.__qualname__, one)
        return 0
