"""`docs/engine.md`: its diagrams are the tables of the code, and its agent of 30 lines runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reviewhub.core.transitions import Edges
from reviewhub.resumptions.states import RESUMPTION_EDGES
from reviewhub.runs.states import BRANCH_EDGES
from reviewhub.toolcalls.states import CALL_EDGES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "engine.md").read_text()


@pytest.mark.parametrize(
    ("heading", "edges"),
    [("Branch", BRANCH_EDGES), ("Tool call", CALL_EDGES), ("Resumption", RESUMPTION_EDGES)],
)
def test_the_diagrams_have_every_state_and_edge(heading: str, edges: Edges) -> None:
    drawn = re.search(rf"### {heading}\n\n```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    assert drawn, heading
    arrows = set(re.findall(r"^    (\w+) --> (\w+|\[\*\])$", drawn[1], re.MULTILINE))
    assert len(arrows) == len(drawn[1].splitlines())
    expected = {(state, target) for state, targets in edges.items() for target in targets or {"[*]"}}
    assert arrows == expected


def test_the_agent_of_30_lines_runs_and_refunds_once_what_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, test = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(agent.splitlines()) <= 30
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    exec(agent, names)  # noqa: S102
    names["agent"].check()
    exec(test, names)  # noqa: S102
    assert (tmp_path / "refunds.txt").read_text() == "12.40 to 8812\n"
    assert names["store"].result == '{"amount":"1240.00","order":"8812","outcome":"done"}'
