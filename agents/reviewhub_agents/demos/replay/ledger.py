"""The world of a replay: an append-only file in which every effect of a replayed write is one line."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

KINDS = ("attempt", "act", "effect", "failure", "refusal")
"""Consumed; done to the world; recorded as succeeded; recorded as failed; not allowed, or not as proposed."""


class Busy(RuntimeError):
    """Another replay works in this folder."""


class Ledger:
    """`effects.jsonl` in a folder. A line is on the disk before the replay goes on; a torn last line is ignored."""

    def __init__(self, folder: Path) -> None:
        """Opens, or makes, the file and holds it alone. Raises `Busy` when another process holds it."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "effects.jsonl"
        self._file = self.path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise Busy(f"Another replay works in {folder}.") from error
        self._lock = threading.Lock()
        self.lines = self._read()
        self._known = {self._identity(line) for line in self.lines}

    def note(self, kind: str, *, call: str, attempt: int = 0, **about: Any) -> bool:
        """Write one line, unless it is there for this call and attempt; an `act` is always written.

        Returns whether it was written. An act twice would be an act twice in the world, so nothing hides it.
        """
        assert kind in KINDS
        line = {"kind": kind, "call": call, "attempt": attempt, **about}
        with self._lock:
            if kind != "act" and self._identity(line) in self._known:
                return False
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self._known.add(self._identity(line))
            self.lines.append(line)
        return True

    def counts(self, external_ids: set[str]) -> dict[str, Any]:
        """How many lines of each kind the writes of these runs have, and where something was done twice."""
        with self._lock:
            mine = [line for line in self.lines if line["write"] and line["run"] in external_ids]
        kinds = Counter(line["kind"] for line in mine)
        acts = Counter(
            (line["run"], line["position"], line["call"]) for line in mine if line["kind"] == "act"
        )
        return {
            "attempts": kinds["attempt"],
            "acts": kinds["act"],
            "effects": kinds["effect"],
            "failures": kinds["failure"],
            "refusals": kinds["refusal"],
            "twice": [f"{run} message {position}" for (run, position, _), times in acts.items() if times > 1],
        }

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> list[dict[str, Any]]:
        self._file.seek(0)
        content = self._file.read()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            # Killed in the middle of a line: end it, so that the next one starts on its own.
            self._file.write(b"\n")
        return [line for text in whole.splitlines() if (line := _line(text)) is not None]

    @staticmethod
    def _identity(line: dict[str, Any]) -> tuple[str, str, int]:
        return line["kind"], line["call"], line["attempt"]


def _line(text: bytes) -> dict[str, Any] | None:
    """One line, or None for a torn one that a later start ended."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
