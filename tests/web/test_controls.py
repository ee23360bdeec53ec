"""The buttons above a run: which there are, and why one is disabled."""

from __future__ import annotations

import uuid

import pytest

from reviewhub.accounts.permissions import Action
from reviewhub.runs.models import Branch
from reviewhub.web.controls import CONTROL, controls


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
        (("running",), "halt cancel"),
        (("paused",), "halt cancel"),
        (("running!",), "resume cancel"),
        (("paused!", "resuming"), "halt resume cancel"),
        (("quarantined",), "retry cancel"),
        (("quarantined", "quarantined", "running"), "halt retry retry cancel"),
        (("succeeded",), ""),
        (("failed!", "superseded", "cancelled"), ""),
    ],
)
def test_what_makes_sense(states: tuple[str, ...], verbs: str) -> None:
    assert shown(*states) == verbs


def test_who_may_not_sees_them_disabled() -> None:
    assert shown("running", may=()) == "(halt) (cancel)"
    assert shown("quarantined", may=(Action.RUN_CANCEL,)) == "(retry) cancel"
    assert shown("running!", stopped=True) == "(resume) cancel"
