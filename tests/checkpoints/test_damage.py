"""What is stored is what was saved, or nothing is handed out."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
import zstandard
from django.db import DatabaseError, connection, transaction

from reviewhub.audit.testing import unguarded
from reviewhub.checkpoints import recall
from reviewhub.checkpoints.load import CorruptCheckpoint, load
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import put, put_message, read
from tests.shared import shared

LONG = '"' + "hello world " * 50 + '"'


@pytest.fixture(autouse=True)
def _nothing_in_mind() -> Iterator[None]:
    """A process that has read a checkpoint does not look again; these tests are about those that have not."""
    recall.forget_all()
    yield
    recall.forget_all()


def damage(rows: Any, **columns: Any) -> None:
    """Changes what is stored, past the guards, and forgets what this process knows."""
    connection.check_constraints()
    with unguarded():
        assert rows.update(**columns)
        connection.check_constraints()
    recall.forget_all()


@shared
def saved(branch: Branch) -> list[Checkpoint]:
    """A manifest with blobs and a delta."""
    first = put(branch, '{"doc":' + LONG + ',"messages":[' + LONG + "]}")
    hints = {"append": {"messages": ["x"]}, "unchanged": ["doc"], "parent_hash": first.state_hash}
    return [first, put_message(branch, {**hints, "parent": str(first.id)})]


def refused(checkpoint: Checkpoint) -> None:
    row = Checkpoint.objects.get(pk=checkpoint.pk)
    with pytest.raises(CorruptCheckpoint) as raised:
        load(row)
    assert raised.value.extra == {"checkpoint": str(checkpoint.pk)}


@pytest.mark.parametrize("part", ["first byte", "last byte", "half", "other row", "empty"])
@pytest.mark.parametrize("which", [0, 1])
def test_of_a_row_is_noticed_in_all_that_stands_on_it(saved: list[Checkpoint], part: str, which: int) -> None:
    content = bytes(saved[which].content)
    damaged = {
        "first byte": b"\x07" + content[1:],
        "last byte": content[:-1] + bytes([content[-1] ^ 1]),
        "half": content[: len(content) // 2],
        "other row": bytes(saved[1 - which].content),
        "empty": b"",
    }[part]
    damage(Checkpoint.objects.filter(pk=saved[which].pk), content=damaged)
    for row in saved[which:]:
        refused(row)
    if which == 1:
        assert "hello" in read(saved[0])


@pytest.mark.parametrize("how", ["changed", "exchanged", "not packed", "gone"])
def test_of_a_blob_is_noticed(saved: list[Checkpoint], how: str) -> None:
    blobs = Blob.objects.filter(run_id=saved[0].run_id)
    one = blobs.order_by("hash").first()
    assert one is not None
    if how == "gone":
        connection.check_constraints()
        with unguarded():
            blobs.filter(hash=one.hash).delete()
        recall.forget_all()
    else:
        data = {"changed": b'\x00"other"', "exchanged": b"\x00[]", "not packed": b"\x01no"}[how]
        damage(blobs.filter(hash=one.hash), data=data)
    for row in saved:
        refused(row)


@pytest.mark.parametrize("how", ["changed", "exchanged", "not packed", "empty"])
def test_of_a_blob_is_mended_by_who_saves_the_value_again(
    branch: Branch, saved: list[Checkpoint], how: str
) -> None:
    put(branch, '{"doc":"gone"}')
    data = {"changed": b'\x00"other"', "exchanged": b"\x00[]", "not packed": b"\x01no", "empty": b""}[how]
    damage(Blob.objects.filter(run_id=branch.run_id), data=data)
    again = put(branch, '{"doc":' + LONG + "}")
    recall.forget_all()
    assert "hello" in read(again)
    whole = '{"doc":' + LONG + ',"messages":[' + LONG + "]}"
    assert put(branch, whole).state_hash == saved[0].state_hash
    recall.forget_all()
    assert read(saved[0]) == whole, "what named the value before is whole, too"


def test_a_blob_in_other_bytes_of_the_same_value_stays(branch: Branch, saved: list[Checkpoint]) -> None:
    put(branch, '{"doc":"gone"}')
    hash_ = sha256(LONG.encode()).digest()
    one = Blob.objects.filter(run_id=branch.run_id, hash=hash_)
    other = b"\x01" + zstandard.ZstdCompressor(level=19, write_checksum=True).compress(LONG.encode())
    damage(one, data=other)
    again = put(branch, '{"doc":' + LONG + "}")
    recall.forget_all()
    assert "hello" in read(again)
    assert bytes(one.get().data) == other


@pytest.mark.parametrize(
    "change", ["no bytes", "one byte", "other bytes", "compressed", "location", "size", "gone"]
)
def test_of_a_blob_is_not_mended_by_other_bytes(branch: Branch, saved: list[Checkpoint], change: str) -> None:
    one = Blob.objects.filter(run_id=branch.run_id, hash=sha256(LONG.encode()).digest())
    right = b"\x00" + LONG.encode()
    fields: dict[str, Any] = {
        "no bytes": {"data": b""},
        "one byte": {"data": b"\x00"},
        "other bytes": {"data": right + b" "},
        "compressed": {"data": b"\x01" + LONG.encode()},
        "location": {"data": right, "location": "files/x"},
        "size": {"data": right, "size": 7},
        "gone": {"data": None},
    }[change]
    with pytest.raises(DatabaseError), transaction.atomic():
        one.update(**fields)
    assert one.update(data=right) == 1, "only the bytes of this hash"


def test_of_a_hash_is_noticed(saved: list[Checkpoint]) -> None:
    damage(Checkpoint.objects.filter(pk=saved[1].pk), state_hash="sha256:" + "0" * 64)
    refused(saved[1])


def test_a_missing_row_is_noticed(saved: list[Checkpoint]) -> None:
    damage(Checkpoint.objects.filter(pk=saved[0].pk), number=7)
    refused(saved[1])


@pytest.mark.parametrize("base", [0, 2, 9])
def test_a_beginning_that_is_none_is_noticed(saved: list[Checkpoint], base: int) -> None:
    damage(Checkpoint.objects.filter(pk=saved[1].pk), base=base)
    refused(saved[1])


def test_nothing_is_saved_on_top_of_damage(branch: Branch, saved: list[Checkpoint]) -> None:
    damage(Checkpoint.objects.filter(pk=saved[0].pk), content=b"")
    with pytest.raises(CorruptCheckpoint):
        put(branch, '{"whole":1}')
    assert Checkpoint.objects.count() == 2


@pytest.mark.parametrize("table", [Checkpoint, Blob])
def test_cannot_be_done_by_the_application(saved: list[Checkpoint], table: Any) -> None:
    column = "state_hash" if table is Checkpoint else "data"
    with pytest.raises(DatabaseError), transaction.atomic():
        table.objects.update(**{column: b""})
    with pytest.raises(DatabaseError), transaction.atomic():
        table.objects.filter(run_id=saved[0].run_id)._raw_delete("default")


def test_what_was_read_once_is_right_whatever_happens_below(saved: list[Checkpoint]) -> None:
    before = read(saved[1])
    connection.check_constraints()
    with unguarded():
        Checkpoint.objects.filter(pk=saved[0].pk).update(content=b"")
        connection.check_constraints()
    assert read(saved[1]) == before
