"""A run's state from its branches' states."""

from __future__ import annotations

import pytest

from reviewhub.runs.rules import state_of


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ([], "running"),
        (["running"], "running"),
        (["resuming"], "running"),
        (["paused"], "paused"),
        (["running", "paused"], "paused"),
        (["paused", "succeeded"], "paused"),
        (["succeeded", "running"], "running"),
        (["succeeded"], "succeeded"),
        (["failed", "succeeded"], "failed"),
        (["succeeded", "failed"], "succeeded"),
        (["cancelled", "cancelled"], "cancelled"),
        (["superseded", "failed"], "failed"),
        (["succeeded", "superseded"], "succeeded"),
        (["quarantined", "superseded"], "quarantined"),
        (["superseded"], "running"),
    ],
)
def test_state_of_a_run(branches: list[str], expected: str) -> None:
    assert state_of(branches) == expected
