"""A saved state on the scales, and the bytes that the last saves wrote."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewhub.budgets import line as lines
from reviewhub.budgets import timing
from reviewhub.budgets.line import line
from reviewhub.budgets.rules import Budget
from reviewhub.budgets.weigh import weigh
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import AGENT, put
from tests.checkpoints.test_damage import damage

pytestmark = pytest.mark.django_db
FREE = Budget()


def text(**fields: Any) -> str:
    return json.dumps(fields)


def stored(branch: Branch) -> int:
    """All bytes that the run's rows and blobs have, by looking at them."""
    rows = Checkpoint.objects.filter(run_id=branch.run_id).values_list("content", flat=True)
    blobs = Blob.objects.filter(run_id=branch.run_id).values_list("data", flat=True)
    return sum(len(bytes(data)) for data in (*rows, *blobs))


def test_every_field_has_its_bytes_its_share_and_its_tokens(branch: Branch) -> None:
    head = put(branch, text(a="x" * 298, b=["é" * 20], n=1))
    found = weigh(checkpoint=head, budget=Budget(field_bytes=290, fields={"n": 9}))
    assert [(one.name, one.bytes, one.share, one.tokens, one.limit) for one in found.fields] == [
        ("a", 300, 83, 75, 290),
        ("b", 44, 12, 11, 290),
        ("n", 1, 0, 1, 9),
    ]
    assert found.bytes == head.raw_length
    assert found.tokens == 87
    assert (found.others, found.others_bytes) == (0, 0)
    assert [(one.field, one.why) for one in found.warnings] == [("a", "size")]


def test_growth_is_over_the_steps_and_since_the_last_one(branch: Branch) -> None:
    for at in range(5):
        head = put(branch, text(log=["x" * 98] * at, same=1))
    found = weigh(checkpoint=head, budget=Budget(step_bytes=100), steps=3)
    assert {one.name: one.grown for one in found.fields} == {"log": 202, "same": 0}
    assert [(one.field, one.why, one.bytes) for one in found.warnings] == [("log", "growth", 101)]
    first = Checkpoint.objects.get(branch=branch, number=1)
    assert [one.grown for one in weigh(checkpoint=first, budget=FREE).fields] == [None, None]


def test_a_field_that_is_new_grew_from_nothing(branch: Branch) -> None:
    put(branch, text(a=1))
    head = put(branch, text(b="x" * 98))
    found = weigh(checkpoint=head, budget=FREE)
    assert [(one.name, one.grown) for one in found.fields] == [("b", 100)]


def test_ten_thousand_fields_are_told_as_fifty_and_the_rest(branch: Branch) -> None:
    head = put(branch, text(**{f"f{at:05}": "x" * (at // 40) for at in range(10_000)}))
    found = weigh(checkpoint=head, budget=FREE)
    assert len(found.fields) == 50
    assert found.fields[0].name == "f09960"
    assert found.others == 9950
    assert found.others_bytes == sum(at // 40 + 2 for at in range(9950))


def test_times_are_measured_for_the_heaviest_until_the_time_is_over(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = put(branch, text(a=list(range(100)), b="x" * 50, c=1))
    found = weigh(checkpoint=head, budget=FREE).fields
    assert all(one.times is not None for one in found)
    monkeypatch.setattr(timing, "MOST_TIMED", 60)
    assert [one.times is not None for one in weigh(checkpoint=head, budget=FREE).fields] == [
        False,
        True,
        True,
    ]
    monkeypatch.setattr(timing, "TIMING", -1)
    assert {one.times for one in weigh(checkpoint=head, budget=FREE).fields} == {None}


def test_the_bytes_of_all_steps_are_those_that_are_stored(branch: Branch) -> None:
    items: list[str] = []
    for at in range(70):
        items.append(f"{at} " * 200)
        head = put(branch, text(items=items, doc="y" * 1000 + str(at // 30), at=at))
    way = line(head, most=100)
    assert [step.checkpoint.number for step in way] == list(range(1, 71))
    assert sum(step.written for step in way) == stored(branch)
    # The manifest puts the items of 64 rows into blobs; that is counted where it happened, and nowhere else.
    assert max(way, key=lambda step: step.blobs or 0).checkpoint.number == 65
    assert [step.written for step in line(head, most=10)] == [step.written for step in way[-10:]]
    assert [step.written for step in line(head, most=6)] == [step.written for step in way[-6:]]


def test_the_way_goes_back_across_a_fork(branch: Branch) -> None:
    put(branch, text(a=1))
    origin = put(branch, text(a="x" * 5000))
    put(branch, text(a="left out"))
    made, first = fork(checkpoint=origin, name="try", changes=[], reason="", actor=AGENT)
    second = put(made, text(a="x" * 5000, b=1))
    way = line(second, most=10)
    assert [(step.checkpoint.branch.name, step.checkpoint.number) for step in way] == [
        ("main", 1),
        ("main", 2),
        ("try", 1),
        ("try", 2),
    ]
    assert [bool(step.blobs) for step in way] == [False, True, False, False]
    assert first.pk == way[2].checkpoint.pk
    assert [one.grown for one in weigh(checkpoint=second, budget=FREE).fields] == [5001, 1]


def test_no_blob_is_read_for_the_bytes_of_steps(branch: Branch) -> None:
    for at in range(3):
        head = put(branch, text(a="x" * 5000 + str(at)))
    with CaptureQueriesContext(connection) as seen:
        line(head, most=10)
    blobs = [one["sql"] for one in seen if "checkpoints_blob" in one["sql"]]
    assert len(blobs) == 1
    assert "LENGTH" in blobs[0].upper()
    # On PostgreSQL the rows themselves are read by a cursor that nothing counts.
    assert len(seen) == (3 if connection.vendor == "postgresql" else 4)


def test_a_blob_that_is_kept_elsewhere_counts_as_it_is_stored_there(branch: Branch) -> None:
    head = put(branch, text(a="x" * 5000))
    (before,) = line(head, most=5)
    blobs = Blob.objects.filter(run_id=branch.run_id)
    damage(blobs, data=None, location="files/somewhere", size=before.blobs)
    assert line(head, most=5) == [before]


def test_rows_that_are_too_large_are_not_read(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    head = put(branch, text(a="x" * 5000))
    monkeypatch.setattr(lines, "MOST_MANIFEST_BYTES", 4000)
    (step,) = line(head, most=5)
    assert (step.blobs, step.written) == (None, step.row)


@pytest.mark.parametrize("which", [0, 1])
def test_a_damaged_state_is_refused_and_named(branch: Branch, which: int) -> None:
    rows = [put(branch, text(a="x" * 500 + str(at))) for at in range(2)]
    damage(
        Blob.objects.filter(run_id=branch.run_id, hash=sha256(f'"{"x" * 500}{which}"'.encode()).digest()),
        data=b"",
    )
    with pytest.raises(CorruptCheckpoint) as raised:
        weigh(checkpoint=rows[1], budget=FREE)
    assert raised.value.extra == {"checkpoint": str(rows[which].pk)}


def test_a_damaged_row_hides_no_bytes_of_rows(branch: Branch) -> None:
    head = put(branch, text(a="x" * 500))
    damage(Checkpoint.objects.filter(pk=head.pk), content=b"\x07")
    assert [(step.row, step.blobs) for step in line(head, most=5)] == [(1, None)]
