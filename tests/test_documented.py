"""The documentation says what the code does: states and edges, and every decision type."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from django.db.models import TextChoices

from reviewhub.core.checks import RANK
from reviewhub.core.transitions import Edges
from reviewhub.toolcalls.states import DecisionType

DOCS = Path(__file__).resolve().parent.parent / "docs"
# The heading of each entity's table on the lifecycle page, by its enum.
HEADINGS = {
    "RunState": "Run",
    "BranchState": "Branch",
    "PauseState": "Pause",
    "StepStatus": "Step of a plan",
    "CallState": "Tool call",
    "RequestState": "Review request",
    "GrantState": "Grant",
    "PostReviewState": "Post-review",
    "FollowUpState": "Follow-up",
    "ResumptionState": "Resumption",
    "DraftState": "Policy draft",
    "BacktestState": "Backtest",
}


def tables() -> list[tuple[type[TextChoices], Edges]]:
    """Every state table of every app."""
    found: list[tuple[type[TextChoices], Edges]] = []
    for app in RANK:
        if importlib.util.find_spec(f"reviewhub.{app}.states"):
            found += importlib.import_module(f"reviewhub.{app}.states").TABLES
    return found


def rows(heading: str) -> list[list[str]]:
    """The rows of the table whose first column is called `heading`."""
    text = (DOCS / "lifecycle.md").read_text()
    match = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert match, f"the lifecycle page has no table {heading!r}"
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in match[1].splitlines()]


def documented(heading: str) -> dict[str, frozenset[str]]:
    """State → the states that the page says it may become."""
    return {state: frozenset(filter(None, re.split(r",\s*", nexts))) for state, nexts, *_ in rows(heading)}


@pytest.mark.parametrize(("enum", "edges"), tables(), ids=lambda each: getattr(each, "__name__", ""))
def test_the_lifecycle_page_has_every_state_and_edge(enum: type[TextChoices], edges: Edges) -> None:
    assert documented(HEADINGS[enum.__name__]) == dict(edges)


def test_every_entity_has_a_table() -> None:
    assert {enum.__name__ for enum, _ in tables()} == set(HEADINGS)


def test_every_decision_type_is_explained() -> None:
    assert [row[0] for row in rows("Decision")] == list(DecisionType.values)


def test_the_glossary_is_sorted_and_says_each_word_once() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        (page.name, target)
        for page in DOCS.rglob("*.md")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
