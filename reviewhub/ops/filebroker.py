"""Celery's file-system transport, made safe for one machine that is killed, cleaned up and started again.

Kombu's own writes a message in place (a fast reader can meet half of it), keeps its bindings in files (a folder wiped
while programs run loses every later message) and orders by a clock that starts again at boot. A lost message costs no
more than one sweep, but a worker that dies of it costs more.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads


class Channel(filesystem.Channel):
    """Every exchange leads to the queue of its own name; messages appear whole, by a rename."""

    supports_fanout = False

    def get_table(self, exchange: str) -> list[Any]:
        """The one binding of an exchange."""
        return [filesystem.exchange_queue_t(exchange, "", exchange)]

    def _queue_bind(
        self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None
    ) -> None:
        return None

    def _delete(self, queue: str, *args: Any, **kwargs: Any) -> None:
        return None

    @property
    def _folder(self) -> Path:
        folder = Path(self.data_folder_in)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # bases differ
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}"
        draft = self._folder / f"{name}.draft"
        draft.write_text(dumps(payload), encoding="utf-8")
        draft.rename(self._folder / f"{name}.msg")

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for name in sorted(os.listdir(self._folder)):
            if not _belongs(name, queue):
                continue
            taken = self._folder / f"{name}.{uuid.uuid4().hex}.taken"
            try:
                (self._folder / name).rename(taken)
                text = taken.read_text(encoding="utf-8")
                taken.unlink()
            except FileNotFoundError:
                continue  # another worker was faster, or somebody cleaned up
            return loads(text)
        raise Empty

    def _purge(self, queue: str) -> int:
        gone = [path for path in self._folder.iterdir() if _belongs(path.name, queue)]
        for path in gone:
            path.unlink(missing_ok=True)
        return len(gone)

    def _size(self, queue: str) -> int:
        return sum(_belongs(name, queue) for name in os.listdir(self._folder))


def _belongs(name: str, queue: str) -> bool:
    return name.partition(".")[2] == f"{queue}.msg"


class Transport(filesystem.Transport):
    """The transport of `folder://` addresses."""

    Channel = Channel
