"""One `manage.py up` for each data folder: two would share a database, logs and a broker without a word."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TextIO

from django.conf import settings


class RunsAlready(Exception):
    """Another process holds the folder; the message says where it runs."""


class Alone:
    """Holds `up.lock` in a folder until this process ends, however it ends: the kernel lets go of the lock."""

    def __init__(self, folder: Path) -> None:
        """Takes the lock. Raises RunsAlready when another process has it."""
        folder.mkdir(parents=True, exist_ok=True)
        # "a+": what the holder wrote must not be lost by looking.
        self._file: TextIO = (folder / "up.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.seek(0)
            where = self._file.read().strip() or "another process of this folder is just starting"
            self._file.close()
            raise RunsAlready(where) from error
        self._write("")

    def say(self, address: str) -> None:
        """Leaves for others where this one runs."""
        self._write(f"{address} (process {os.getpid()})")

    @staticmethod
    def runs_at(folder: Path) -> str:
        """The address of what runs on a folder just now, as it said; empty for none."""
        try:
            with (folder / "up.lock").open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return (folder / "up.lock").read_text(encoding="utf-8").partition(" ")[0]
        except OSError:
            pass
        return ""

    def _write(self, text: str) -> None:
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()


def public_address() -> str:
    """Where people reach this installation: the setting, else where it runs now, on whatever port it took."""
    return ("" if "PUBLIC_URL" in os.environ else Alone.runs_at(settings.VAR)) or settings.PUBLIC_URL
