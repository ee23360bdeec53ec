"""What may run, and what may run again: the whole table."""

import pytest

from reviewhub.toolcalls.recovery import AtConsume, at_consume

STATES = ["proposed", "waiting", "allowed", "denied", "started", "succeeded", "failed", "unknown", "skipped"]
FRESH, SAME = AtConsume.FRESH_ATTEMPT, AtConsume.SAME_ANSWER
GONE, NO, TWIN = AtConsume.ALREADY_CONSUMED, AtConsume.NOT_ALLOWED, AtConsume.TWIN_IN_DOUBT

CONSUME = {
    # state: (same key, once), (other key, once), (same key, idempotent), (other key, idempotent)
    "proposed": (NO, NO, NO, NO),
    "waiting": (NO, NO, NO, NO),
    "allowed": (FRESH, FRESH, FRESH, FRESH),
    "denied": (NO, NO, NO, NO),
    "started": (SAME, GONE, SAME, FRESH),
    "succeeded": (SAME, GONE, SAME, GONE),
    "failed": (SAME, GONE, SAME, FRESH),
    "unknown": (NO, NO, NO, NO),
    "skipped": (NO, NO, NO, NO),
}


@pytest.mark.parametrize("state", STATES)
def test_consume(state):
    cases = [(True, "once"), (False, "once"), (True, "idempotent"), (False, "idempotent")]
    assert (
        tuple(at_consume(state=state, effect=effect, same_key=same) for same, effect in cases)
        == CONSUME[state]
    )


@pytest.mark.parametrize("state", STATES)
def test_reads_are_as_idempotent_calls_and_unknown_effects_as_once(state):
    for same in (True, False):
        idempotent = at_consume(state=state, effect="idempotent", same_key=same)
        assert at_consume(state=state, effect="read", same_key=same) == idempotent
        once = at_consume(state=state, effect="once", same_key=same)
        assert at_consume(state=state, effect="harmless", same_key=same) == once


@pytest.mark.parametrize(
    ("effect", "twins", "expected"),
    [
        ("once", [], FRESH),
        ("once", ["started"], TWIN),
        ("once", ["succeeded", "unknown"], TWIN),
        ("once", ["succeeded", "failed", "denied"], FRESH),
        ("read", ["started"], FRESH),
    ],
)
def test_an_equal_call_in_doubt_elsewhere_holds_this_one(effect, twins, expected):
    assert at_consume(state="allowed", effect=effect, same_key=False, twins=twins) == expected


def test_attempts_end():
    assert at_consume(state="failed", effect="read", same_key=False, attempt_left=False) == GONE


def test_the_tables_know_every_state():
    from reviewhub.toolcalls.states import CallState

    assert set(STATES) == set(CallState.values)
