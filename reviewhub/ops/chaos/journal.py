"""What the tools really did, written down beside them: the witness that the ledger is compared with."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel
from reviewhub_agents import canonical
from reviewhub_agents.runtime import Graph, Tool, ToolRun


@dataclass(frozen=True)
class Journal:
    """A file with a line for each beginning and each end of a tool, whole or not there, whoever dies."""

    path: Path

    def watch(self, graph: Graph[Any]) -> None:
        """From now on every tool of `graph` and of its children writes its lines, here and in processes forked off."""
        for member in graph.family().values():
            for name, tool in member.tools.items():
                member.tools[name] = replace(tool, run=self._watched(tool))

    def read(self) -> Witnessed:
        """All that was written up to now."""
        found = Witnessed()
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                said = json.loads(line)
                if said["kind"] == "begun":
                    found.begun[said["key"]] += 1
                else:
                    found.done[said["key"]] += 1
                    found.results[said["key"]] = said["result"]
        return found

    def _watched(self, tool: Tool[Any]) -> Callable[[BaseModel, ToolRun], Any]:
        def run(arguments: BaseModel, run: ToolRun) -> Any:
            self._write({"kind": "begun", "key": run.idempotency_key})
            return self._done(run, tool.run(arguments, run))

        async def run_async(arguments: BaseModel, run: ToolRun) -> Any:
            self._write({"kind": "begun", "key": run.idempotency_key})
            return self._done(run, await cast("Any", tool.run)(arguments, run))

        return run_async if iscoroutinefunction(tool.run) else run

    def _done(self, run: ToolRun, result: Any) -> Any:
        self._write({"kind": "done", "key": run.idempotency_key, "result": canonical.dumps(result)})
        return result

    def _write(self, line: dict[str, str]) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, (json.dumps(line) + "\n").encode())
        finally:
            os.close(file)


@dataclass
class Witnessed:
    """How often the tool of each call began and ended, by idempotency key, and what it returned (canonical text)."""

    begun: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    results: dict[str, str] = field(default_factory=dict)
