"""The table of what may run (again)."""

from __future__ import annotations

import pytest
from reviewhub_agents.runtime.recovery import Move, next_move

ANY = ("read", "idempotent", "once")
AGAIN = ("read", "idempotent")


@pytest.mark.parametrize(
    ("state", "effects", "attempt", "tries", "move"),
    [
        ("proposed", ANY, 0, 1, Move.WAIT),
        ("waiting", ANY, 0, 1, Move.WAIT),
        ("unknown", ANY, 1, 1, Move.WAIT),
        ("allowed", ANY, 0, 1, Move.RUN),
        ("allowed", ANY, 1, 1, Move.RUN),
        ("started", ("once",), 1, 1, Move.ASK),
        ("started", ("once",), 1, 5, Move.ASK),
        ("started", AGAIN, 1, 1, Move.RUN),
        ("failed", ("once",), 1, 5, Move.USE),
        ("failed", AGAIN, 1, 1, Move.USE),
        ("failed", AGAIN, 1, 2, Move.RUN),
        ("failed", AGAIN, 2, 2, Move.USE),
        ("succeeded", ANY, 1, 5, Move.USE),
        ("denied", ANY, 0, 5, Move.USE),
        ("skipped", ANY, 0, 5, Move.USE),
    ],
)
def test_next_move(state: str, effects: tuple[str, ...], attempt: int, tries: int, move: Move) -> None:
    for effect in effects:
        assert next_move(state=state, effect=effect, attempt=attempt, tries=tries) is move  # type: ignore[arg-type]


def test_an_unknown_state_is_no_licence_to_run() -> None:
    with pytest.raises(ValueError, match="odd"):
        next_move(state="odd", effect="read", attempt=0, tries=1)
