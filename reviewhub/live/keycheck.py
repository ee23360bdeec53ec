"""Is this an agent's key, the session of somebody signed in? Asked before a body is read: it must cost little and block
nobody.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

REMEMBERED_SECONDS = 30.0
REMEMBERED_KEYS = 10_000


class KeyCheck:
    """Looks keys up on two threads of its own and remembers the good ones for half a minute.

    A remembered key may have been revoked (a session ended) meanwhile: it then gets its body read and the view's 401.
    Unknown keys are never remembered, so a new key works at once.
    """

    def __init__(self, lookup: Callable[[str], bool]) -> None:
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="keycheck")
        self._good: OrderedDict[bytes, float] = OrderedDict()

    async def known(self, token: str) -> bool:
        """Whether `token` is a key that may be used now."""
        digest = hashlib.sha256(token.encode()).digest()
        until = self._good.get(digest)
        if until is not None and until > time.monotonic():
            return True
        if not await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, token):
            self._good.pop(digest, None)
            return False
        self._good[digest] = time.monotonic() + REMEMBERED_SECONDS
        self._good.move_to_end(digest)
        while len(self._good) > REMEMBERED_KEYS:
            self._good.popitem(last=False)
        return True

    def _ask(self, token: str) -> bool:
        close_old_connections()
        try:
            return self._lookup(token)
        finally:
            close_old_connections()
