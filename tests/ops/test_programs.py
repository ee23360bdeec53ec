"""What the programs of one start get."""

from __future__ import annotations

import os
from typing import Any

import pytest

from reviewhub.ops.management.commands.up import programs


@pytest.mark.parametrize("own", ["/own/graphs", ""])
def test_own_graphs_are_found_where_they_lie(
    own: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("PYTHONPATH", own)
    for program in programs(address="http://127.0.0.1:1", fd=3, logs=None):
        path = program.environment["PYTHONPATH"].split(os.pathsep)
        assert path == [str(settings.BASE_DIR), str(settings.BASE_DIR / "agents"), *filter(None, [own])]
