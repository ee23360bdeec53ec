"""Keeps the worker's log readable: sweeps that found nothing to do leave no lines.

Sweeps run every few seconds. Celery writes two lines for each task, which would bury what happened under what did not.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

LOGGERS = ("celery.worker.strategy", "celery.app.trace")
"""Where Celery says that a task was received, and how it ended."""
NOTHING = frozenset({"0", "None", "False"})


class IdleSweeps(logging.Filter):
    """Drops “received” of the sweeps, and “succeeded” of those that did nothing; warnings and errors stay."""

    def __init__(self, sweeps: Collection[str]) -> None:
        super().__init__()
        self._sweeps = frozenset(sweeps)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        about: Any = record.args
        if record.levelno > logging.INFO or not isinstance(about, Mapping):
            return True
        if about.get("name") not in self._sweeps:
            return True
        return about.get("return_value", "0") not in NOTHING


def hush(sweeps: Collection[str]) -> None:
    """Puts the filter on Celery's loggers of this process."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(IdleSweeps(sweeps))
