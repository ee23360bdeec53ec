"""The same for many keys at once, within a time limit for all together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from reviewhub.checkpoints.blobs.protocol import StoreDown

Found = TypeVar("Found")
THREADS = 16


def side_by_side(does: Callable[[str], Found], keys: Collection[str], *, seconds: float) -> dict[str, Found]:
    """What `does` answers for each key. It must not use Django's database connection, which belongs to a thread.

    Raises:
        StoreDown: not all was done within `seconds`; what has not begun is not begun any more.
    """
    futures = {key: _pool().submit(does, key) for key in keys}
    done, late = wait(futures.values(), timeout=seconds, return_when=FIRST_EXCEPTION)
    for future in late:
        future.cancel()
    for future in done:
        future.result()
    if late:
        raise StoreDown(f"no answer within {seconds:g} s")
    return {key: future.result() for key, future in futures.items()}


@cache
def _pool() -> ThreadPoolExecutor:
    """One for the process, made by the process that uses it."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="blobs")
