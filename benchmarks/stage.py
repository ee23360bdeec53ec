"""An installation with worker processes that may be killed, for `engine.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Stage:
    """Workers and beat, each as `manage.py up` starts them, in sessions of their own."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "processes.log"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._beat: list[subprocess.Popen[bytes]] = []

    def beat(self) -> None:
        """Starts what hands out wakings whose time has come."""
        self._beat.append(
            self._started("--app", "reviewhub.celery", "beat", "--loglevel", "WARNING", "--pidfile=")
        )

    def worker(self) -> subprocess.Popen[bytes]:
        """One more worker, four runs at a time."""
        from reviewhub.ops.management.commands.up import worker_arguments

        before = self._ready()
        made = self._started(*worker_arguments())
        self._processes.append(made)
        waited(lambda: self._ready() > before or made.poll() is not None, 120)
        if made.poll() is not None:
            raise SystemExit(f"a worker does not start: {self._log.read_text()[-3000:]}")
        return made

    def kill(self, pid: int) -> float:
        """SIGKILL to the worker with this process id; when that was."""
        worker = next(one for one in self._processes if one.pid == pid)
        at = time.time()
        os.killpg(pid, signal.SIGKILL)
        worker.wait()
        self._processes.remove(worker)
        return at

    def end(self) -> None:
        """All of them, hard."""
        for one in (*self._processes, *self._beat):
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()

    def _ready(self) -> int:
        return self._log.read_text().count(" ready.") if self._log.exists() else 0

    def _started(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "reviewhub.ops.child", str(os.getpid()), "celery", *arguments]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)


def waited(found: Callable[[], Any], seconds: float, pause: float = 0.02) -> Any:
    """What `found` gives once it gives something."""
    end = time.monotonic() + seconds
    while not (something := found()):
        if time.monotonic() > end:
            raise SystemExit("waited in vain")
        time.sleep(pause)
    return something
