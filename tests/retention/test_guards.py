"""No statement removes a checkpoint or a blob but those of a removal, which nobody can leave out, change or hide."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from reviewhub_agents import wire

from reviewhub.checkpoints.models import Blob, Checkpoint, Hold, Removal, RemovalEnd, Tombstone
from reviewhub.checkpoints.remove import Doomed, Load, Why, remove
from reviewhub.core.clock import now
from reviewhub.runs.models import Branch
from reviewhub.runs.start import start
from tests.cast import Cast, by_key, make_test_agent
from tests.retention.conftest import grow

WHY = Why(kind=Removal.Kind.RETENTION, reason="a test", by_name="system")


def sql(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def refused(statement: str) -> None:
    with pytest.raises(IntegrityError, match="rows are never"):
        sql(statement)


def open_removal(branch: Branch, **more: Any) -> Removal:
    """A removal without an end."""
    return Removal.objects.create(
        workspace_id=branch.workspace_id,
        run_id=branch.run_id,
        kind="retention",
        created_at=now(),
        end_id=uuid.uuid4(),
        **more,
    )


def close(removal: Removal, checkpoints: int = 0) -> None:
    RemovalEnd.objects.create(id=removal.end_id, checkpoints=checkpoints, blobs=0, bytes=0, digest="")


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside did not: a removal that took nothing cannot be closed."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def stone(row: Checkpoint, removal: Removal, **other: Any) -> Tombstone:
    fields = {"number": row.number, "state_hash": row.state_hash, "branch_id": row.branch_id} | other
    return Tombstone.objects.create(id=row.id, removal=removal, **fields)


def doomed(row: Checkpoint) -> Doomed:
    return Doomed(
        id=row.id,
        branch_id=row.branch_id,
        branch="main",
        number=row.number,
        state_hash=row.state_hash,
        size=1,
    )


def test_without_a_removal_nothing_goes(branch: Branch) -> None:
    grow(branch, 2)
    refused("DELETE FROM checkpoints_checkpoint")
    refused("DELETE FROM checkpoints_blob")


def test_a_removal_takes_what_it_has_a_tombstone_for_and_nothing_else(branch: Branch) -> None:
    first, second = grow(branch, 2)
    removal = open_removal(branch)
    refused("DELETE FROM checkpoints_checkpoint")
    stone(second, removal)
    with pytest.raises(IntegrityError):
        sql(f"DELETE FROM checkpoints_checkpoint WHERE number = {first.number}")
    sql(f"DELETE FROM checkpoints_checkpoint WHERE number = {second.number}")
    close(removal, 1)
    assert list(Checkpoint.objects.values_list("number", flat=True)) == [1]


@pytest.mark.parametrize("wrong", [{"number": 9}, {"state_hash": "sha256:00"}])
def test_a_tombstone_that_says_something_else_opens_nothing(branch: Branch, wrong: dict[str, Any]) -> None:
    (row,) = grow(branch, 1)
    with undone():
        stone(row, open_removal(branch), **wrong)
        refused("DELETE FROM checkpoints_checkpoint")


def test_a_removal_that_has_ended_opens_nothing(branch: Branch) -> None:
    first, second = grow(branch, 2)
    removal = open_removal(branch)
    stone(second, removal)
    sql(f"DELETE FROM checkpoints_checkpoint WHERE number = {second.number}")
    close(removal, 1)
    refused("DELETE FROM checkpoints_checkpoint")
    refused("DELETE FROM checkpoints_blob")


def test_nor_does_one_of_another_run(branch: Branch, cast: Cast) -> None:
    (row,) = grow(branch, 1)
    key = make_test_agent(cast.finance, name="Other")[1]
    elsewhere = start(key=key, body=wire.RunStart(), actor=by_key(key))[0].branches.get()
    with undone():
        stone(row, open_removal(elsewhere))
        refused("DELETE FROM checkpoints_checkpoint")
        refused("DELETE FROM checkpoints_blob")


def test_under_hold_nothing_goes(branch: Branch) -> None:
    row = grow(branch, 2)[1]
    Hold.objects.create(run_id=branch.run_id, reason="a lawsuit", by_name="Carol")
    hashes = {bytes(hash_): {"database": 1} for hash_ in Blob.objects.values_list("hash", flat=True)}
    for load in (Load(checkpoints=[doomed(row)]), Load(blobs=hashes)):
        with pytest.raises(IntegrityError, match="rows are never removed"), transaction.atomic():
            remove(run=branch.run, load=load, why=WHY)
    assert not Removal.objects.exists() and not Tombstone.objects.exists()


def test_a_checkpoint_that_was_another_by_now_does_not_go(branch: Branch) -> None:
    row = grow(branch, 1)[0]
    load = Load(checkpoints=[Doomed(**{**vars(doomed(row)), "state_hash": "sha256:00"})])
    with pytest.raises(IntegrityError), transaction.atomic():
        remove(run=branch.run, load=load, why=WHY)


@pytest.mark.django_db(transaction=True)
def test_an_open_removal_is_not_committed(branch: Branch) -> None:
    """So nothing can be removed and left without an account, and none stays open for later."""
    (row,) = grow(branch, 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        stone(row, open_removal(branch))
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM checkpoints_checkpoint")
    assert Checkpoint.objects.count() == 1
    assert not Removal.objects.exists() and not Tombstone.objects.exists()


def test_the_account_says_what_went_or_is_refused(branch: Branch) -> None:
    first, second, _ = grow(branch, 3)
    removal = open_removal(branch)
    stone(second, removal)
    stone(first, removal)
    sql(f"DELETE FROM checkpoints_checkpoint WHERE number = {second.number}")
    for count in (0, 1, 2, 3):
        with pytest.raises(IntegrityError, match="the account is not what happened"), transaction.atomic():
            close(removal, count)
    sql(f"DELETE FROM checkpoints_checkpoint WHERE number = {first.number}")
    for count in (0, 1, 3):
        with pytest.raises(IntegrityError, match="the account is not what happened"), transaction.atomic():
            close(removal, count)
    close(removal, 2)


def test_a_blob_that_is_not_there_is_not_said_to_have_gone(branch: Branch) -> None:
    grow(branch, 1)
    hashes = [bytes(one) for one in Blob.objects.values_list("hash", flat=True)]
    load = Load(blobs=dict.fromkeys([*hashes, b"\0" * 32], {"database": 1}))
    with (
        pytest.raises(
            IntegrityError, match=f"{len(hashes) + 1} rows are to be removed, and {len(hashes)} were"
        ),
        transaction.atomic(),
    ):
        remove(run=branch.run, load=load, why=WHY)
    assert Blob.objects.count() == len(hashes)


def test_the_account_is_never_changed(branch: Branch) -> None:
    row = grow(branch, 2)[1]
    remove(run=branch.run, load=Load(checkpoints=[doomed(row)]), why=WHY)
    for table, column in (
        ("removal", "reason"),
        ("removalend", "digest"),
        ("tombstone", "state_hash"),
    ):
        refused(f"UPDATE checkpoints_{table} SET {column} = ''")
        refused(f"DELETE FROM checkpoints_{table}")


def test_outside_of_a_transaction_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        remove(run=None, load=Load(), why=WHY)  # type: ignore[arg-type]


def test_what_a_removal_says_went() -> None:
    row = Doomed(
        id=uuid.UUID(int=1),
        branch_id=uuid.UUID(int=2),
        branch="main",
        number=7,
        state_hash="sha256:ab",
        size=10,
    )
    load = Load(checkpoints=[row], blobs={b"\xcc": {"database": 2, "s3": 3}})
    assert load.size == 15
    assert load.sizes == {"database": 12, "s3": 3}
    text = "blob cc\ncheckpoint 00000000-0000-0000-0000-000000000001 7 sha256:ab\n"
    assert load.digest == "sha256:" + sha256(text.encode()).hexdigest()
