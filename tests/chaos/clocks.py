"""A process whose own clock jumps: by as many seconds as a file says, from one look at it to the next.

Only what tells the time of day; what measures (`time.monotonic`) goes on, as it does when a machine's clock is set. The
database's clock is another one: on SQLite it is C code in the same process, and this does not touch it.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from django.utils import timezone

NAME = "clock"


def set_wrong(folder: Path, seconds: int) -> None:
    """From now on the clocks of all who follow the folder are that much ahead."""
    draft = folder / "clock.draft"
    draft.write_text(str(seconds))
    draft.rename(folder / NAME)


def follow(folder: Path) -> None:
    """This process's clock is what the folder says; right while nothing is said."""
    path = folder / NAME
    true_time, true_ns, true_now = time.time, time.time_ns, timezone.now

    def wrong() -> int:
        try:
            return int(path.read_text())
        except FileNotFoundError:
            return 0

    def now() -> datetime:
        return true_now() + timedelta(seconds=wrong())

    time.time = lambda: true_time() + wrong()
    time.time_ns = lambda: true_ns() + wrong() * 1_000_000_000
    timezone.now = now

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, datetime)

    class Wrong(datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # a true one
            return datetime.now(tz) + timedelta(seconds=wrong())

    for name, module in list(sys.modules.items()):
        if name.startswith("reviewhub") and getattr(module, "datetime", None) is datetime:
            setattr(module, "datetime", Wrong)  # noqa: B010  # a module's own name
