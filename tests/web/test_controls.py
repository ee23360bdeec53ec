"""The buttons above a run: which there are, and why one is disabled."""

from __future__ import annotations

import uuid

import pytest

from reviewhub.accounts.permissions import Action
from reviewhub.runs.models import Branch
from reviewhub.web.controls import CONTROL, controls, ways


def shown(*states: str, may: tuple[Action, ...] = CONTROL, stopped: bool = False) -> str:
    """Verbs, those that are disabled in brackets. A state may end in `!`: halted."""
    branches = [
        Branch(name=f"b{n}", state=state.rstrip("!"), is_halted="!" in state)
        for n, state in enumerate(states)
    ]
    found = controls(run_id=uuid.uuid4(), branches=branches, may=may, stopped=stopped)
    return " ".join(f"({one.verb})" if one.why_not else one.verb for one in found)


@pytest.mark.parametrize(
    ("states", "verbs"),
    [
        (("running",), "halt (resume) cancel"),
        (("paused",), "halt (resume) cancel"),
        (("running!",), "resume cancel"),
        (("paused!", "resuming"), "halt resume cancel"),
        (("quarantined",), "retry cancel"),
        (("quarantined", "quarantined", "running"), "halt retry retry cancel"),
        (("succeeded",), "(resume) (cancel)"),
        (("failed!", "superseded", "cancelled"), "(resume) (cancel)"),
    ],
)
def test_what_makes_sense(states: tuple[str, ...], verbs: str) -> None:
    assert shown(*states) == verbs


def test_who_may_not_sees_them_disabled() -> None:
    assert shown("running", may=()) == "(halt) (resume) (cancel)"
    assert shown("quarantined", may=(Action.RUN_CANCEL,)) == "(retry) cancel"
    assert shown("running!", stopped=True) == "(resume) cancel"


@pytest.mark.parametrize(
    ("state", "may", "stopped", "found"),
    [
        ("running", CONTROL, False, "fork rewrite"),
        ("superseded", CONTROL, False, "fork"),
        ("failed", CONTROL, False, "fork"),
        ("running", CONTROL, True, ""),
        ("running", (Action.RUN_HALT, Action.CHECKPOINT_FORK), False, "fork"),
    ],
)
def test_ways_on_from_a_checkpoint(state: str, may: tuple[Action, ...], stopped: bool, found: str) -> None:
    way = ways(Branch(name="main", state=state), may=may, stopped=stopped)
    assert found == " ".join(
        name for name, why_not in (("fork", way.no_fork), ("rewrite", way.no_rewrite)) if not why_not
    )
