"""Whether the source code changed: what `make dev` starts the programs again for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

LOOK_SECONDS = 1.0


class CodeChanged:
    """Called as a function; True once after each change of a Python file below `folders`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._known = self._snapshot()
        self._looked = time.monotonic()

    def __call__(self) -> bool:
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return False
        found = self._snapshot()
        changed, self._known = found != self._known, found
        self._looked = time.monotonic()
        return changed

    def _snapshot(self) -> dict[Path, int]:
        found = {}
        for folder in self._folders:
            for path in folder.rglob("*.py"):
                try:
                    found[path] = path.stat().st_mtime_ns
                except FileNotFoundError:
                    continue  # an editor moved it away this moment
        return found
