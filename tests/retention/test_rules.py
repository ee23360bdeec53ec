"""Which checkpoints go, as a table, and two things that hold for every rule and every branch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.retention.rules import DAY, Limits, Row, cost, effective, going, longest


def branch(*bases: int, pinned: tuple[int, ...] = (), needed: tuple[int, ...] = ()) -> list[Row]:
    """Rows 1, 2, … with these bases; the last was saved just now, each one before a day earlier."""
    return [
        Row(number, base, (len(bases) - number) * DAY, number in pinned, number in needed)
        for number, base in enumerate(bases, 1)
    ]


# Two manifests, 1 and 4, with two rows standing on each.
SIX = (1, 1, 1, 4, 4, 4)


@pytest.mark.parametrize(
    ("limits", "marks", "ended", "goes"),
    [
        (Limits(), {}, None, []),
        (Limits(), {}, 999, []),
        # The newest three stand on row 4; a kept row keeps what it stands on.
        (Limits(keep_last=3), {}, None, [3, 2, 1]),
        (Limits(keep_last=1), {}, None, [3, 2, 1]),
        (Limits(keep_last=4), {}, None, []),
        (Limits(keep_last=1), {"pinned": (2,)}, None, [3]),
        (Limits(keep_last=1), {"needed": (2,)}, None, [3]),
        # Row 3 is three days old, the limit counts from that moment on.
        (Limits(max_age_days=3), {}, None, [3, 2, 1]),
        (Limits(max_age_days=4), {}, None, []),
        (Limits(max_age_days=5), {"pinned": (1,)}, None, []),
        # Manifests stay when the rest is thinned, and so does the head with what is below it.
        (Limits(thin_days=3), {}, None, [3, 2]),
        (Limits(thin_days=0), {}, None, [3, 2]),
        (Limits(thin_days=3), {"pinned": (3,)}, None, []),
        (Limits(thin_days=3, keep_last=3), {}, None, [3, 2, 1]),
        # What counts from the end of the run waits for it.
        (Limits(decided_days=2), {"pinned": (2, 6)}, None, []),
        (Limits(decided_days=2), {"pinned": (2, 6)}, 1, []),
        (Limits(decided_days=2), {"pinned": (2, 6)}, 2, [3]),
        (Limits(decided_days=2), {}, 2, [3, 2, 1]),
        (Limits(delete_days=2), {"pinned": (2, 6)}, None, []),
        (Limits(delete_days=2), {"pinned": (2, 6)}, 2, [6, 5, 4, 3, 2, 1]),
        (Limits(delete_days=2), {"pinned": (6,), "needed": (5,)}, 2, [6, 3, 2, 1]),
    ],
)
def test_what_goes(
    limits: Limits, marks: dict[str, tuple[int, ...]], ended: int | None, goes: list[int]
) -> None:
    assert going(branch(*SIX, **marks), limits, ended=None if ended is None else ended * DAY) == goes


def test_an_empty_branch_and_one_with_gaps() -> None:
    assert going([], Limits(max_age_days=0), ended=None) == []
    rows = [row for row in branch(*SIX) if row.number not in (2, 3)]
    assert going(rows, Limits(keep_last=1), ended=None) == [1]


DAYS = st.none() | st.integers(0, 6)
LIMITS = st.builds(
    Limits,
    keep_last=st.none() | st.integers(1, 6),
    max_age_days=DAYS,
    thin_days=DAYS,
    decided_days=DAYS,
    delete_days=DAYS,
)


def drawn_branch(drawn: list[tuple[bool, int, bool, bool]]) -> list[Row]:
    """Rows whose first, and whose others where True is drawn, stand alone."""
    rows: list[Row] = []
    for number, (alone, age, pinned, needed) in enumerate(drawn, 1):
        base = number if alone or not rows else rows[-1].base
        rows.append(Row(number, base, age, pinned, needed))
    return rows


BRANCHES = st.lists(
    st.tuples(st.booleans(), st.integers(0, 7 * DAY), st.booleans(), st.booleans()), max_size=12
).map(drawn_branch)


@given(rows=BRANCHES, limits=LIMITS, ended=st.none() | st.integers(0, 7 * DAY))
def test_what_is_pinned_stays_and_all_that_stays_stands(
    rows: list[Row], limits: Limits, ended: int | None
) -> None:
    gone = going(rows, limits, ended=ended)
    assert gone == sorted(gone, reverse=True)
    left = {row.number for row in rows}
    # After each single removal, not only after the last.
    for number in gone:
        left.discard(number)
        for row in rows:
            if row.number in left and row.number not in gone:
                assert set(range(row.base, row.number + 1)) <= left
    by_number = {row.number: row for row in rows}
    assert not any(by_number[number].needed for number in gone)
    is_deleted = limits.delete_days is not None and ended is not None and ended >= limits.delete_days * DAY
    if not is_deleted:
        assert not any(by_number[number].pinned for number in gone)
        assert rows == [] or rows[-1].number not in gone


@given(one=LIMITS, other=LIMITS, rows=BRANCHES, ended=st.none() | st.integers(0, 7 * DAY))
def test_a_class_that_an_agent_names_never_shortens(
    one: Limits, other: Limits, rows: list[Row], ended: int | None
) -> None:
    both = going(rows, longest(one, other), ended=ended)
    assert set(both) <= set(going(rows, one, ended=ended))


def test_which_rules_are_about_a_run() -> None:
    of_all, of_agent, of_class = Limits(thin_days=9), Limits(thin_days=3), Limits(thin_days=5, keep_last=2)
    default = Limits(thin_days=30)
    assert effective([], default=default) == default
    assert effective([(False, False, of_all)], default=default) == of_all
    assert effective([(False, False, of_all), (True, False, of_agent)], default=default) == of_agent
    assert effective([(True, False, of_agent), (False, True, of_class)], default=default) == Limits(
        thin_days=5
    )
    shorter = [(True, False, of_agent), (False, True, Limits(thin_days=1))]
    assert effective(shorter, default=default) == of_agent


def test_what_it_costs() -> None:
    assert cost({"database": 2_000_000_000, "s3": 10**9, "tape": 5}, {"database": 0.1, "s3": 0.02}) == 0.22


def test_what_a_rule_says_of_itself() -> None:
    assert Limits().text == "{}" and Limits().words == "keep everything"
    assert Limits(thin_days=30, keep_last=2).text == '{"keep_last":2,"thin_days":30}'
    assert Limits(thin_days=30, keep_last=2).words == "keep the last 2 of each branch; thin after 30 days"
