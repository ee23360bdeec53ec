"""Keeps a handful of programs running: starts them, starts again what died, stops all of them in order."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

logger = logging.getLogger(__name__)

TICK = 0.1
FIRST_BACKOFF, LAST_BACKOFF = 0.5, 15.0
STEADY_SECONDS = 30.0
"""A program that ran this long has earned a quick restart again."""
STOP_SECONDS = 15.0
SAME_WISH = 1.0
LOG_BYTES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program: a Python module and its arguments. `log` None: it writes where the supervisor writes."""

    name: str
    module: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit: Sequence[int] = ()
    log: Path | None = None
    restarted: bool = True
    """False: a program that may end by itself."""


@dataclass
class Running:
    """A program's process, and when it may be started again."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    next_start: float = 0.0
    renewed: bool = False
    """It was told to end in order to be started again."""

    def start(self) -> None:
        """Starts the process in a session of its own, so that Ctrl-C reaches the supervisor alone."""
        program = self.program
        command = [sys.executable, "-m", "reviewhub.ops.child", str(os.getpid()), program.module]
        log = _open_log(program.log) if program.log else None
        try:
            self.process = subprocess.Popen(
                [*command, *program.arguments],
                env={**os.environ, **program.environment},
                pass_fds=tuple(program.inherit),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT if log is not None else None,
            )
        finally:
            if log is not None:
                os.close(log)
        self.started_at = time.monotonic()

    def look(self) -> None:
        """Notices the end of the process and starts it again when its time has come."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            self.process = None
            if self.renewed:
                self.renewed = False
                self.start()
                return
            if not self.program.restarted:
                return
            self.failures = 0 if now - self.started_at > STEADY_SECONDS else self.failures + 1
            pause = min(FIRST_BACKOFF * 2 ** max(self.failures - 1, 0), LAST_BACKOFF)
            self.next_start = now + pause
            where = f"; see {self.program.log}" if self.program.log else ""
            logger.warning(
                "%s ended (%s), starting it again in %.1f s%s", self.program.name, code, pause, where
            )
        elif self.program.restarted and now >= self.next_start:
            self.start()

    def renew(self) -> None:
        """Asks the process to end and starts it again as soon as it has."""
        if self.process is not None and self.program.restarted:
            self.renewed = True
            self.process.terminate()

    def stop(self, *, hard: bool) -> None:
        """Asks the process to end, or ends it together with whatever it started."""
        if self.process is None or self.process.poll() is not None:
            return
        if hard:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.terminate()


class Supervisor:
    """Runs programs until it is told to stop (SIGTERM, SIGINT, SIGHUP)."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        renew_when: Callable[[], bool] | None = None,
        when_stopping: Callable[[], None] = lambda: None,
    ) -> None:
        """`renew_when` is asked all the time; `when_stopping` is called once, before the programs are told to end."""
        self.running = [Running(program) for program in programs]
        self._renew_when = renew_when
        self._when_stopping = when_stopping
        self._told_at: float | None = None
        self._impatient = False

    def run(self) -> None:
        """Starts everything and returns when everything has ended.

        The programs are stopped in the reverse of the given order, each when the one before has ended. A second signal,
        a second or more after the first, ends all at once and hard.
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._heard)
        try:
            for running in self.running:
                running.start()
            while self._told_at is None:
                renew = self._renew_when is not None and self._renew_when()
                for running in self.running:
                    if renew:
                        running.renew()
                    running.look()
                time.sleep(TICK)
        finally:
            self._when_stopping()
            self._stop_all()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        # One wish often arrives twice, from the terminal and from the program that started this one.
        if self._told_at is None:
            self._told_at = time.monotonic()
        elif time.monotonic() - self._told_at > SAME_WISH:
            self._impatient = True

    def _stop_all(self) -> None:
        for running in reversed(self.running):
            running.stop(hard=False)
            end = time.monotonic() + STOP_SECONDS
            while running.process is not None and running.process.poll() is None:
                if self._impatient or time.monotonic() > end:
                    logger.warning("%s did not end by itself", running.program.name)
                    running.stop(hard=True)
                    running.process.wait()
                time.sleep(TICK / 4)


def _open_log(path: Path) -> int:
    """The log file for appending; one that has grown large starts anew and leaves one older file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".old.log"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
