"""Patterns of agents' schemas, in an engine whose time is linear in the text. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # ships no types

MAX_PATTERN_CHARS = 1000
_MAX_MEMORY = 1 << 20


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """`text` compiled, with a method `search`. Raises ValueError with a sentence if it is too long or refused."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"the pattern has {len(text)} characters; the limit is {MAX_PATTERN_CHARS}")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise ValueError(f"the pattern cannot be used: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
