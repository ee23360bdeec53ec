"""`docs/permissions.md` holds the table that the code holds."""

from __future__ import annotations

from pathlib import Path

from reviewhub.accounts.models import Role
from reviewhub.accounts.permissions import AGENT, ANYWHERE, IN_OWN_TEAMS, STOPPED_AGENT, Action

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "permissions.md"


def cell(role: str, action: Action) -> str:
    if action in ANYWHERE[role]:
        return "workspace"
    return "own teams" if action in IN_OWN_TEAMS[role] else ""


def table() -> list[str]:
    """The rows as the page has them."""
    rows = []
    for action in Action:
        people = [cell(role, action) for role in (Role.REVIEWER, Role.MANAGER, Role.ADMIN)]
        programs = ["own agent" if action in may else "" for may in (AGENT, STOPPED_AGENT)]
        rows.append("| " + " | ".join([f"`{action}`", *people, *programs]).replace("|  |", "| |") + " |")
    return [row.replace("|  |", "| |").replace("  |", " |") for row in rows]


def test_the_page_says_what_the_code_does() -> None:
    written = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert written == table()
